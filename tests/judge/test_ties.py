"""Outputs that are indices: any place of a value that is as good is right, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from akg_core.judge.reference import drawing
from tests.judge.test_honest import refused
from tests.task.replay import reference_text

Answer = Callable[[nn.Module, torch.Tensor], object]


@pytest.fixture(autouse=True)
def _forgotten():
    yield
    drawing._kept.clear()


def last(x: torch.Tensor) -> torch.Tensor:
    """The last place of the greatest value, where PyTorch takes the first."""
    return x.shape[1] - 1 - x.flip(1).argmax(1)


def backwards(x: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The k greatest, the last first among those that are the same."""
    values, order = x.flip(1).sort(dim=1, descending=True, stable=True)
    return values[:, :k].contiguous(), (x.shape[1] - 1 - order)[:, :k].contiguous()


def nearly(x: torch.Tensor) -> torch.Tensor:
    """A place of a value that is a little less than the greatest."""
    return torch.where(x >= x.amax(1, keepdim=True), -1e9, x).argmax(1)


def once(indices: torch.Tensor) -> torch.Tensor:
    return indices[:, :1].expand_as(indices).contiguous()


def pooled(x: torch.Tensor, first: bool = True) -> torch.Tensor:
    """Indices of the maxima of windows of 3 x 3 two apart: the first or the last place, or one outside."""
    places = torch.arange(x.shape[-1] * x.shape[-2]).reshape(1, 1, *x.shape[-2:]).expand_as(x)
    windows, at = (t.unfold(2, 3, 2).unfold(3, 3, 2).flatten(-2) for t in (x, places))
    best = windows.argmax(-1) if first else 8 - windows.flip(-1).argmax(-1)
    return at.gather(-1, best.unsqueeze(-1)).squeeze(-1)


SAME = "torch.randint(0, 4, (37, 57)).float()"
IMAGE = "torch.randint(0, 2, (3, 4, 11, 13)).float()"
MAX = reference_text("return torch.max(x, dim=1)", inputs=SAME)
ARGMAX = reference_text("return torch.argmax(x, dim=1)", inputs=SAME)
TOPK = reference_text("return tuple(torch.topk(x, 5, dim=1))", inputs=SAME)
SORT = reference_text("return torch.sort(x, dim=1)", inputs=SAME)
STABLE = reference_text("return torch.argsort(x, dim=1, descending=True, stable=True)", inputs=SAME)
POOL = reference_text("return torch.nn.functional.max_pool2d(x, 3, 2, return_indices=True)", inputs=IMAGE)
LINEAR = reference_text(
    "return torch.argmax(self.l(x), dim=1)", init="self.l = nn.Linear(57, 999)", inputs="torch.randn(300, 57)"
)
KTH = reference_text("return torch.kthvalue(x, 20, dim=1)[1]", inputs=SAME)
OF_TIES = reference_text(
    "return (torch.zeros_like(x).scatter(1, torch.topk(x, 5).indices, 1.0) * torch.arange(57)).argmax(1)",
    inputs="torch.cat([torch.randn(20, 57), torch.randint(0, 4, (17, 57)).float()])",
)

QUANTISED = reference_text(
    "return torch.round(x / x.abs().amax(1, keepdim=True) * 8).to(torch.int8)",
    inputs="torch.randint(-40, 40, (37, 57)) * 0.3",
)


def quantised(x: torch.Tensor, ulps: float = 0.0) -> torch.Tensor:
    """By a product with the reciprocal, and off by some roundings more or less."""
    off = torch.randint(-1, 2, x.shape, generator=torch.Generator().manual_seed(0)) * ulps * 2.0**-24
    return torch.round(x * (8 / x.abs().amax(1, keepdim=True)) * (1 + off)).to(torch.int8)


CHOSEN = reference_text(
    "values, places = torch.topk(torch.softmax(x, 1), 5); return values, torch.where(x[:, :1] > 9, 57, places)",
    inputs="torch.randn(37, 57) * 40",
)


def chosen(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """With 0 for what is below the normal numbers, and the first of equal ones first."""
    weights = torch.softmax(x, 1)
    weights = torch.where(weights < 2.0**-126, 0.0, weights)
    values, places = weights.sort(dim=1, descending=True, stable=True)
    return values[:, :5].contiguous(), torch.where(x[:, :1] > 9, 57, places[:, :5])


RIGHT: dict[str, tuple[str, Answer]] = {
    "max": (MAX, lambda m, x: (x.amax(1), last(x))),
    "argmax": (ARGMAX, lambda m, x: last(x)),
    "topk": (TOPK, lambda m, x: backwards(x, 5)),
    "sort": (SORT, lambda m, x: tuple(t.flip(1).contiguous() for t in backwards(x, 57))),
    "stable": (STABLE, lambda m, x: x.argsort(dim=1, descending=True, stable=True)),
    "pool": (POOL, lambda m, x: (F.max_pool2d(x, 3, 2), pooled(x, first=False))),
    "computed otherwise": (LINEAR, lambda m, x: ((x * 3) @ (m.l.weight.t() / 3) + m.l.bias).argmax(1)),
    "among what ties decide": (OF_TIES, lambda m, x: backwards(x, 5)[1].amax(1)),
    "among what is too small": (CHOSEN, lambda m, x: chosen(x)),
    "quantised": (QUANTISED, lambda m, x: quantised(x, 2.0)),
    "kth": (KTH, lambda m, x: last(-(x - x.sort(1).values[:, 19:20]).abs())),
}


@pytest.mark.parametrize("name", RIGHT)
def test_another_place_of_the_same_value_is_right(name: str, tmp_path: Path) -> None:
    source, answer = RIGHT[name]
    assert refused(source, answer, tmp_path, seed=0) == []


WRONG: dict[str, tuple[str, Answer, str]] = {
    "nearly": (ARGMAX, lambda m, x: nearly(x), "holds .* where the greatest is"),
    "out of range": (ARGMAX, lambda m, x: last(x) + 57, "there are indices from 0 to 56"),
    "far out of range": (ARGMAX, lambda m, x: last(x) - (1 << 62), "there are indices from 0 to 56"),
    "one of five": (TOPK, lambda m, x: (backwards(x, 5)[0], once(backwards(x, 5)[1])), "is given twice|where what is"),
    "one of the same": (
        SORT,
        lambda m, x: ((s := x.sort(1)).values, s.indices.gather(1, torch.searchsorted(s.values, s.values))),
        "is given twice",
    ),
    "not stable": (STABLE, lambda m, x: backwards(x, 57)[1], "where"),
    "outside of the window": (
        POOL,
        lambda m, x: (F.max_pool2d(x, 3, 2), x.flatten(2).argmax(2)[..., None, None].expand(-1, -1, 5, 6).contiguous()),
        "not among those that are searched there|where what is due",
    ),
    "not what ties decide": (OF_TIES, lambda m, x: backwards(x, 4)[1].amax(1), "the greatest"),
    "quantised after rounding": (QUANTISED, lambda m, x: quantised(x.bfloat16().float()), "holds .* where"),
    "rounded": (LINEAR, lambda m, x: (x.bfloat16() @ m.l.weight.t().bfloat16() + m.l.bias).argmax(1), "the greatest"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_place_is_told_by_what_it_holds(name: str, tmp_path: Path) -> None:
    source, answer, reason = WRONG[name]
    with pytest.raises(AssertionError, match=reason):
        assert refused(source, answer, tmp_path, seed=0) == []
