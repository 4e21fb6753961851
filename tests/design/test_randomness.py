"""Operators that draw random numbers: kernels draw what the interpreter of references draws, spread as by PyTorch."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from akg_core.errors import UnsupportedOperator
from akg_core.task.capture import capture
from akg_core.task.randomness import drawn_from
from akg_core.task.source.load import load_source
from tests.design.judging import designed, forward, judge, reference, several

DROPPED = [
    "F.dropout(x, 0.3) + F.dropout(x, 0.3)", "F.dropout(x, 0.0)", "F.dropout(x, 1.0)", "F.dropout2d(x, 0.4)",
    "F.dropout1d(x[0], 0.4)", "F.alpha_dropout(x, 0.2, True)", "F.feature_alpha_dropout(x, 0.2, True)",
    "F.dropout(x.half(), 0.3)", "F.scaled_dot_product_attention(x, x, x, dropout_p=0.2)",
    "F.dropout(x.transpose(1, 3), 0.5).sum(1)",
]  # fmt: skip
DRAWN = [
    "torch.rand(4, 5)", "torch.rand_like(x)", "x + torch.randn_like(x)", "torch.randn(7, dtype=torch.float64)",
    "torch.rand(99, dtype=torch.float16)", "torch.rand(99, dtype=torch.bfloat16)", "torch.randint(3, 9, (6, 5))",
    "torch.randint(7, (5,))", "torch.randint_like(x, 4)", "torch.bernoulli(x)", "torch.bernoulli(x, 0.25)",
    "torch.empty_like(x).bernoulli_(x)", "torch.empty_like(x).uniform_(-1, 2)", "torch.empty_like(x).normal_(1, 3)",
    "torch.normal(x, 2.0)", "torch.normal(x, x)", "torch.normal(0.0, x)", "torch.normal(1.0, 2.0, (3, 4))",
    "torch.empty_like(x).exponential_(2.0)", "torch.multinomial(x[0, 0], 3)", "torch.randperm(70)",
    "torch.multinomial(x[0, 0], 3, replacement=True)",
    "x[0][torch.multinomial(x[0, 0], 9, replacement=True) % 2]", "torch.multinomial(x[0, 0, 0], 1)",
    "F.rrelu(x - 0.5, training=True)",
    "F.gumbel_softmax(x, dim=-1)", "(torch.rand(5) + torch.rand(5)).sum()",
]  # fmt: skip
INPUTS = "[torch.rand(3, 2, 8, 5)]"


@pytest.mark.parametrize("line", [*DROPPED, *DRAWN])
def test_drawn(line: str) -> None:
    judge(reference(forward(line), INPUTS))


def test_at_sizes_that_vary() -> None:
    judge(reference(forward("F.dropout(torch.randn_like(x), 0.3)"), INPUTS), dynamic=True)


def test_an_argument_may_be_called_seed() -> None:
    judge(reference(forward("F.dropout(seed, 0.3)", "seed"), INPUTS))


def test_no_two_draws_are_one() -> None:
    text = designed(reference(forward(several(["torch.rand(64)", "torch.rand(64)"])), INPUTS))
    assert text.count("rand(") == 2
    assert "^ 0" in text and "^ 2" in text


@pytest.mark.parametrize(
    "line, kernels",
    [
        ("F.conv2d(x, torch.rand(2, 1, 3, 3) - 0.5, groups=2)", 2),
        ("x.flatten(0, 2) @ torch.rand(5, 300)", 2),
        ("F.dropout2d(x, 0.5)", 1),  # a draw for each row beside what moves the row costs nothing
    ],
)
def test_what_many_sums_read_is_drawn_once(line: str, kernels: int) -> None:
    text = designed(reference(forward(line), "[torch.rand(30, 2, 8, 5)]"))
    assert (text.count("@kernel"), text.count("rand(")) == (kernels, 1)


@pytest.mark.parametrize("line", ["torch.randint(1 << 30, (5,))", "torch.poisson(x)"])
def test_what_is_not_drawn_is_refused(line: str) -> None:
    with pytest.raises(UnsupportedOperator):
        designed(reference(forward(line), INPUTS))


@pytest.mark.parametrize("kept", ["F.dropout(x, 0.5, False)", "F.dropout(x, 0.0) + 1"])
def test_what_draws_nothing_needs_no_seed(kept: str) -> None:
    assert not capture(load_source(reference(forward(kept), INPUTS), "reference")).interface.seeded


WIDE = 1 << 16
SPREADS = {
    "dropout": lambda: F.dropout(torch.ones(WIDE), 0.2),
    "bernoulli": lambda: torch.bernoulli(torch.linspace(0, 1, WIDE)),
    "rand": lambda: torch.rand(WIDE),
    "uniform": lambda: torch.empty(WIDE).uniform_(-1, 3),
    "randn": lambda: torch.randn(WIDE),
    "normal": lambda: torch.normal(torch.ones(WIDE), 3.0),
    "exponential": lambda: torch.empty(WIDE).exponential_(2.0),
    "multinomial": lambda: torch.multinomial(torch.arange(9.0), WIDE, replacement=True),
    "multinomial of all": lambda: torch.multinomial(torch.arange(1.0, 9.0).expand(WIDE // 2, 8), 2),
    "randperm": lambda: torch.stack([torch.randperm(32) - torch.arange(32) for _ in range(WIDE // 32)]),
    "rrelu": lambda: F.rrelu(-torch.ones(WIDE), 0.1, 0.9, training=True),
    "randint": lambda: torch.randint(-3, 40, (WIDE,)),
}


@pytest.mark.parametrize("name", SPREADS)
def test_draws_are_spread_as_those_of_pytorch(name: str) -> None:
    """By the statistic of Kolmogorov and Smirnov of two samples, at a chance of some 1e-6 for each."""
    with drawn_from(11, compared=True) as drawing:
        ours = SPREADS[name]().double().flatten().sort().values
    torch.manual_seed(5)
    theirs = SPREADS[name]().double().flatten().sort().values
    assert not drawing.odd
    at = torch.cat([ours, theirs])
    shares = [torch.searchsorted(one, at, right=True) / WIDE for one in (ours, theirs)]
    assert float((shares[0] - shares[1]).abs().max()) < 2.7 * (2 / WIDE) ** 0.5


def test_another_seed_draws_otherwise() -> None:
    draws = []
    for seed in (1, 2, 1):
        with drawn_from(seed):
            draws.append(torch.rand(4096))
    assert torch.equal(draws[0], draws[2])
    assert not torch.equal(draws[0], draws[1])


def test_numbers_that_are_drawn_in_pieces_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from akg_core.task import randomness

    with drawn_from(1):
        whole = torch.rand(64, 65), torch.rand(0, 3), torch.randn(7, dtype=torch.float64)
    monkeypatch.setattr(randomness, "_ON_HOST", 100)
    with drawn_from(1):
        pieces = torch.rand(64, 65), torch.rand(0, 3), torch.randn(7, dtype=torch.float64)
    assert all(map(torch.equal, whole, pieces))


def test_what_is_spread_otherwise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from akg_core.task import randomness

    monkeypatch.setitem(randomness._DRAWN, "rand", lambda given, like, uniform: uniform(0) ** 2)
    with drawn_from(1, compared=True) as drawing:
        torch.rand(4096)
    assert "rand differs" in drawing.odd
