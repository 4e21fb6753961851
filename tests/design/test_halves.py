"""Products of f32 made of f16 halves are right for whatever numbers come, and exact where eager PyTorch is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from akg_core.design import design
from akg_core.design.graph import split_precision
from akg_core.design.graph.values import literal
from akg_core.records import Traits
from akg_core.sketch.interpret import interpret
from akg_core.sketch.parse import parse
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from tests.design.judging import forward, judge, reference

TRAITS = Traits(units=1, lanes=4, on_chip_bytes=4096, tile_elements=64, dot_tile=(16, 16, 8), half_tile=(16, 16, 16))
LINES = {
    "x @ y": ("(64, 96)", "(96, 70)"),
    "x.T @ y": ("(50, 64)", "(50, 61)"),
    "x.T @ y.T": ("(50, 64)", "(61, 50)"),
    "torch.bmm(x, y)": ("(3, 64, 20)", "(3, 20, 64)"),
    "torch.einsum('bijl,lk->bijk', x, y)": ("(2, 8, 5, 32)", "(32, 64)"),
    "torch.relu(F.linear(x, y))": ("(2, 40, 33)", "(50, 33)"),
    "torch.relu(x) @ torch.sigmoid(y)": ("(64, 33)", "(33, 64)"),
    "torch.tril(x @ y)": ("(64, 64)", "(64, 64)"),
    "(x @ y).softmax(-1)": ("(64, 33)", "(33, 64)"),
    "(x @ y) @ y.t()": ("(64, 33)", "(33, 64)"),
    "x @ y ": ("(210, 16)", "(16, 200)"),  # a short contraction: programs go through columns
    "torch.triu(x @ y.T)": ("(150, 16)", "(200, 16)"),
    "x.t() @ y + 1": ("(3000, 64)", "(3000, 64)"),  # split
    "x.t() @ y": ("(3000, 20)", "(3000, 24)"),  # few tiles: split in the kernel
}


@pytest.mark.parametrize("line", LINES)
def test_against_eager(line: str) -> None:
    left, right = LINES[line]
    given = f"[torch.randn{left}, torch.randn{right}]"
    outcome = judge(reference(forward(line.strip(), "x, y"), given), traits=TRAITS)
    assert "_rest(" in outcome.sketches[0].text, "not made of halves"
    assert "_rest(" not in outcome.sketches[-1].text, "no variant without halves"


def test_small_products_and_other_chips_have_none() -> None:
    source = reference(forward("x @ y", "x, y"), "[torch.randn(64, 96), torch.randn(96, 70)]")
    busy = TRAITS.model_copy(update={"units": 8})
    plain = TRAITS.model_copy(update={"half_tile": None})
    for traits in (busy, plain):
        assert all("f16" not in sketch.text for sketch in design(capture(load_source(source, "reference")), traits))


def _spread(rows: Tensor, low: int, high: int) -> Tensor:
    draw = torch.Generator().manual_seed(1)
    return rows * torch.exp2(torch.randint(low, high, rows.shape, generator=draw).float())


def _far_apart(x: Tensor) -> Tensor:
    """Rows whose first element is 2^60 times the others, which are all that counts where the columns start with 0."""
    x = x.clone()
    x[:, 0] *= 2.0**60
    return x


PATTERNS: dict[str, Callable[[Tensor], Tensor]] = {
    "signed": lambda x: x,
    "large": lambda x: x * 1e5,
    "huge": lambda x: x * 2.0**60,
    "beyond": lambda x: x * 2.0**100,
    "tiny": lambda x: x * 2.0**-62,
    "vanishing": lambda x: x * 2.0**-100,
    "subnormal": lambda x: x * 2.0**-130,
    "rows": lambda x: x * torch.exp2(torch.arange(len(x)).float() - len(x) // 2)[:, None],
    "mixed": lambda x: _spread(x, -12, 12),
    "wide": lambda x: _spread(x, -40, 20),
    "far apart": _far_apart,
    "zeros": lambda x: x * (torch.arange(len(x)) % 3 == 0)[:, None],
    "sparse": lambda x: x * (_spread(torch.ones_like(x), 0, 8) > 64),
    "powers": lambda x: torch.exp2(torch.floor(torch.log2(x.abs()))),
    "below powers": lambda x: torch.exp2(torch.floor(torch.log2(x.abs()))) * (1 - 2.0**-24),
}
BITS = 18


def _drawn() -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(0)
    x, y = torch.randn(64, 96, generator=draw), torch.randn(96, 70, generator=draw)
    y[0] = 0
    return x, y


def _product(x: Tensor, y: Tensor, line: str = "x @ y") -> Tensor:
    given = f"[torch.randn{tuple(x.shape)}, torch.randn{tuple(y.shape)}]"
    sketch = design(capture(load_source(reference(forward(line, "x, y"), given), "reference")), TRAITS)[0]
    assert "_rest(" in sketch.text
    return interpret(parse(sketch.text), [x, y]).outputs[0]


def _excess(x: Tensor, y: Tensor, found: Tensor) -> float:
    """The largest error beside the sizes of the terms that were summed; eager's own is about 2^-22."""
    exact = x.double() @ y.double()
    sizes = x.double().abs() @ y.double().abs()
    return float(((found.double() - exact).abs() / (sizes * 2.0**-BITS + 2.0**-149)).nan_to_num(nan=1e9).max())


@pytest.mark.parametrize("pattern", PATTERNS)
def test_each_term_is_as_exact_as_it_is_large(pattern: str) -> None:
    x, y = _drawn()
    x = PATTERNS[pattern](x)
    assert _excess(x, y, _product(x, y)) < 1
    turned = _product(y.T.contiguous(), x.T.contiguous())
    assert _excess(y.T, x.T, turned) < 1


@pytest.mark.parametrize("pattern", ["signed", "large", "huge", "tiny", "rows", "mixed", "powers", "below powers"])
def test_usual_numbers_keep_21_bits(pattern: str) -> None:
    x, y = _drawn()
    x = PATTERNS[pattern](x)
    assert _excess(x, y, _product(x, y)) < 2.0 ** (BITS - 21)


def test_opposite_scales_meet() -> None:
    x, y = _drawn()
    for power in (60.0, -60.0, 100.0):
        assert _excess(x * 2.0**power, y * 2.0**-power, _product(x * 2.0**power, y * 2.0**-power)) < 1


@pytest.mark.parametrize(
    "constant, value, pattern", [("SPREAD", 2.0**120, "far apart"), ("LARGEST", 2.0**200, "subnormal")]
)
def test_the_conditions_are_needed(constant: str, value: float, pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_precision, constant, value)
    x, y = _drawn()
    x = PATTERNS[pattern](x)
    assert _excess(x, y, _product(x, y)) > 1


@pytest.mark.parametrize("pattern", ["large", "tiny", "rows"])
def test_the_scales_are_needed(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_precision, "power_of", lambda top: literal(1.0, "f32"))
    x, y = _drawn()
    x = PATTERNS[pattern](x)
    assert _excess(x, y, _product(x, y)) > 1


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan"), 3e38])
def test_numbers_that_are_none_stand_where_eager_has_them(number: float) -> None:
    x, y = _drawn()
    x[3, 5] = number
    y[7, 2] = -number
    wanted, found = x @ y, _product(x, y)
    assert torch.equal(wanted.isnan(), found.isnan())
    infinite = wanted.isinf()
    assert torch.equal(infinite, found.isinf()) and torch.equal(wanted[infinite], found[infinite])
    usual = wanted.isfinite()
    torch.testing.assert_close(found[usual], wanted[usual], rtol=1e-5, atol=1e-5)
