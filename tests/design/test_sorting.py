"""Rows put in order: sort, argsort, topk, kthvalue, median, quantile, mode, and what is searched in ordered rows."""

from __future__ import annotations

import pytest

from akg_core.design import variant
from akg_core.design.operators import sorting
from akg_core.design.policy import Policy
from akg_core.sketch.check import require
from akg_core.sketch.parse import parse
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from tests.design.judging import SMALL, compare, designed, forward, reference

LONGEST_SORTED = (0, 8, 4096)  # none, so that runs are merged; all rows at once
CHIPS = [
    *(SMALL.model_copy(update={"longest_sorted": longest}) for longest in LONGEST_SORTED),
    SMALL.model_copy(update={"longest_sorted": 4096, "partial_sorts": True}),
]
SHAPE = "torch.randn(5, 13)"
TIES = "torch.randint(0, 6, (4, 30)).float()"
SPECIAL = "torch.tensor([[3.0, math.nan, -0.0, 0.0, math.inf, -math.inf, -2.0, 0.0, -0.0, math.nan, 1e-45, -1e-45]])"
SORTED = [
    "x.sort(-1)", "x.sort(0, descending=True)", "torch.sort(x, dim=1, stable=True, descending=True)", "torch.msort(x)",
    "x.argsort(-1)", "torch.argsort(x, dim=0, stable=True)", "x.argsort(-1).argsort(-1)",
    "x.sort(-1).values.cumsum(-1)", "x.half().sort(-1)", "x.double().sort(-1)", "x.sort(-1).values[:, 2:-2].mean(-1)",
    "torch.softmax(x, -1).sort(-1)",
]  # fmt: skip
TIED = [
    *(f"torch.sort({x}, dim=-1, stable=True, descending={d})" for d in (True, False)
      for x in ("x", "x.long()", "x.int()", "(x > 2)", "x.to(torch.uint8)")),
    "torch.mode(x, 1).values", "torch.mode(x.long(), 0)",
]  # fmt: skip
CHOSEN = [
    "x.topk(3)", "x.topk(3, dim=0, largest=False)", "x.topk(4, sorted=False).values.sum(-1)", "x.topk(12)",
    "torch.softmax(x, -1).topk(2)", "x.double().topk(2)", "x.kthvalue(3)",
    "x.kthvalue(4, 0, keepdim=True)",
    "x.median()", "x.median(1)", "x.nanmedian(1, keepdim=True)", "x.nanmedian()", "torch.quantile(x, 0.3, dim=1)",
    "torch.quantile(x, 0.75)", "torch.nanquantile(x, 0.4, 1, keepdim=True)",
    *(f"torch.quantile(x, 0.3, dim=1, interpolation='{i}')" for i in ("lower", "higher", "midpoint", "nearest")),
    "torch.zeros_like(x).scatter_(1, x.topk(3).indices, 1.0)",
    "x.masked_fill(x < x.topk(3).values[..., -1:], -math.inf)",
]  # fmt: skip
SEARCHED = [
    ("torch.searchsorted(x.sort(-1).values, y)", "torch.randn(5, 9), torch.randn(5, 4)"),
    ("torch.searchsorted(x, y, sorter=x.argsort(-1))", "torch.randn(5, 9), torch.randn(5, 4)"),
    ("torch.searchsorted(x.sort(-1).values, y, right=True)", "torch.randn(3, 70).round(), torch.randn(3, 4).round()"),
    ("torch.bucketize(y, x.sort().values)", "torch.randn(70), torch.randn(3, 4)"),
    ("torch.searchsorted(x.sort().values, 0.5)", "torch.randn(33), torch.randn(1)"),
    ("torch.isin(x, y)", "torch.randint(0, 90, (3, 4)), torch.randint(0, 90, (50,))"),
    ("torch.searchsorted(x, y)", "torch.randn(3, 40), torch.randn(3, 7)"),
    ("torch.searchsorted(x.cumsum(-1), y)", "torch.rand(3, 40) / 40, torch.rand(3, 2)"),
]


def judge(source: str) -> None:
    """Hold the best guess for a reference against it; other variants differ in what rows have no part in."""
    module = load_source(source, "reference")
    task = capture(module)
    for traits in CHIPS:
        sketch = variant(task, traits, Policy())
        require(parse(sketch.text))
        compare(module, sketch, 0)


@pytest.mark.parametrize("line", SORTED)
def test_sorted(line: str) -> None:
    judge(reference(forward(line), f"[{SHAPE}]"))


@pytest.mark.parametrize("line", TIED)
def test_equals_keep_their_order(line: str) -> None:
    judge(reference(forward(line), f"[{TIES}]"))


@pytest.mark.parametrize("line", CHOSEN)
def test_chosen(line: str) -> None:
    judge(reference(forward(line), f"[{SHAPE}]"))


@pytest.mark.parametrize("descending", [True, False])
def test_zeros_are_equal_and_what_is_no_number_is_last(descending: bool) -> None:
    line = f"torch.sort(x, dim=-1, stable=True, descending={descending})"
    judge(reference(forward(line), f"[{SPECIAL}]"))
    judge(reference(forward("(x.median(1).values, x.nanmedian(1).values, x.kthvalue(4).values)"), f"[{SPECIAL}]"))


@pytest.mark.parametrize(("line", "inputs"), SEARCHED)
def test_searched(line: str, inputs: str) -> None:
    judge(reference(forward(line, "x, y"), f"[{inputs}]"))


@pytest.mark.parametrize("line", ["x.sort(-1)", "x.topk(9)", "x.topk(3).indices", "x.kthvalue(20).values"])
@pytest.mark.parametrize("size", [65, 200])
def test_rows_of_several_runs(line: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "RUN", 32)
    judge(reference(forward(line), f"[torch.randn(2, {size})]"))


def test_a_few_of_a_row_are_found_without_sorting_it() -> None:
    text = designed(reference(forward("x.topk(2)"), "[torch.randn(64, 64)]"))
    assert "atomic" not in text and text.count("reduce_min") == 2


def test_the_first_of_a_softmax_are_those_of_what_it_is_of() -> None:
    """There nothing is equal by rounding; a stable sort of what is equal by rounding is by places."""
    inputs = "[torch.randn(64, 64)]"
    assert "exp(" not in designed(reference(forward("torch.softmax(x.half().float(), -1).topk(2).indices"), inputs))
    assert "exp(" not in designed(reference(forward("x.softmax(-1).topk(20).indices"), inputs))
    assert "exp(" in designed(reference(forward("torch.sort(x.softmax(-1), stable=True).indices"), inputs))
    assert "exp(" in designed(reference(forward("x.softmax(0).topk(2).indices"), inputs))


def test_a_row_that_holds_one_value() -> None:
    judge(reference(forward("(*x.sort(-1), x.topk(2).values, *x[:, :1].sort(-1))"), "[torch.ones(3, 5)]"))


def test_sorted_turn_after_turn() -> None:
    turn = "p = p[torch.argsort(x[p, k], stable=True)]"
    body = f"    def forward(self, x, p):\n        for k in range(5):\n            {turn}\n        return p"
    judge(reference(body, "[torch.randint(0, 4, (6, 5)), torch.randperm(6)]"))
