"""Pooling against PyTorch: every argument, windows that leave the input, places of the maxima."""

from __future__ import annotations

import pytest

from tests.design.judging import SMALL, USUAL, forward, judge, reference

MAXIMA = {
    "F.max_pool1d(x, 3)": "(2, 3, 17)",
    "F.max_pool1d(x, 8, 1, 4, dilation=3)": "(2, 3, 40)",
    "F.max_pool2d(x, 3, 2, 1)": "(2, 3, 9, 11)",
    "F.max_pool2d(x, (2, 5), (1, 3), (1, 2), (3, 1))": "(2, 3, 9, 11)",
    "F.max_pool2d(x, 3, 2, 1, ceil_mode=True)": "(2, 3, 10, 12)",
    "F.max_pool2d(x, 2)": "(3, 9, 11)",
    "F.max_pool3d(x, 3, 2, 1)": "(2, 3, 5, 6, 7)",
    "F.max_pool3d(x, (1, 2, 3), ceil_mode=True)": "(2, 3, 5, 6, 7)",
    "F.adaptive_max_pool1d(x, 5)": "(2, 3, 13)",
    "F.adaptive_max_pool2d(x, (5, 4))": "(2, 3, 13, 12)",
    "F.adaptive_max_pool2d(x, 1)": "(2, 3, 13, 12)",
    "F.adaptive_max_pool3d(x, (2, 3, 4))": "(2, 3, 5, 6, 7)",
    "F.max_pool2d(-torch.relu(x) - 1, 3, 1, 1)": "(2, 3, 9, 11)",
    "F.max_pool2d(x, 3, 2, 1) + 1": "(2, 3, 9, 11)",
}
AVERAGES = {
    "F.avg_pool1d(x, 8, 1, 4)": "(2, 3, 40)",
    "F.avg_pool1d(x, 3)": "(2, 3, 17)",
    "F.avg_pool2d(x, 3, 2, 1)": "(2, 3, 9, 11)",
    "F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)": "(2, 3, 9, 11)",
    "F.avg_pool2d(x, 3, 2, 1, ceil_mode=True)": "(2, 3, 10, 12)",
    "F.avg_pool2d(x, (3, 2), (2, 3), (1, 0), ceil_mode=True, count_include_pad=False)": "(2, 3, 10, 12)",
    "F.avg_pool2d(x, 3, 2, 1, divisor_override=7)": "(2, 3, 9, 11)",
    "F.avg_pool2d(x, 11)": "(2, 3, 25, 23)",
    "F.avg_pool3d(x, 3, 2, 1)": "(2, 3, 5, 6, 7)",
    "F.avg_pool3d(x, (1, 2, 3), ceil_mode=True)": "(2, 3, 5, 6, 7)",
    "F.adaptive_avg_pool1d(x, 5)": "(2, 3, 13)",
    "F.adaptive_avg_pool1d(x.mT, 1)": "(2, 3, 13)",
    "F.adaptive_avg_pool2d(x, (5, 4))": "(2, 3, 13, 12)",
    "F.adaptive_avg_pool2d(x, (7, 15))": "(2, 3, 7, 12)",
    "F.adaptive_avg_pool2d(x, 1)": "(2, 3, 13, 12)",
    "F.adaptive_avg_pool3d(x, (2, 3, 4))": "(2, 3, 5, 6, 7)",
    "F.lp_pool2d(x.abs(), 2, 3)": "(2, 3, 9, 11)",
    "F.avg_pool2d(F.gelu(x), 3, 1, 1) * 2": "(2, 3, 9, 11)",
}
PLACES = {
    "F.max_pool2d(torch.where(x > 1, math.nan, x), 3, 2, 1, return_indices=True)": "(1, 3, 9, 11)",
    "F.max_pool1d(x, 3, return_indices=True)": "(2, 3, 17)",
    "F.max_pool2d(x, 3, 2, 1, return_indices=True)": "(2, 3, 9, 11)",
    "F.max_pool2d(x, (2, 3), 1, 1, (3, 2), return_indices=True)": "(2, 3, 9, 11)",
    "F.max_pool3d(x, 3, 2, 1, return_indices=True)": "(2, 3, 5, 6, 7)",
    "F.adaptive_max_pool2d(x, (5, 4), return_indices=True)": "(2, 3, 13, 11)",
    "F.max_pool2d(torch.full_like(x, -math.inf), 3, 2, 1, return_indices=True)": "(1, 2, 5, 6)",
    "F.max_pool2d(torch.full_like(x, -math.inf), 2, 3, 1, (3, 2), return_indices=True)": "(1, 2, 8, 9)",
}


@pytest.mark.parametrize("line", MAXIMA)
def test_maximum(line: str) -> None:
    judge(reference(forward(line), f"[torch.randn{MAXIMA[line]}]"))


@pytest.mark.parametrize("line", AVERAGES)
def test_average(line: str) -> None:
    judge(reference(forward(line), f"[torch.randn{AVERAGES[line]}]"))


@pytest.mark.parametrize("line", PLACES)
def test_places(line: str) -> None:
    judge(reference(forward(line), f"[torch.randn{PLACES[line]}]"))


@pytest.mark.parametrize("line", ["F.max_pool2d(x, 3, 2, 1)", "F.avg_pool2d(x, 3, 2, 1)", "F.avg_pool2d(x, 40)"])
@pytest.mark.parametrize("traits", [SMALL, USUAL], ids=["small", "usual"])
def test_large(line: str, traits) -> None:
    judge(reference(forward(line), "[torch.randn(2, 3, 80, 90)]"), traits=traits)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_dtypes(dtype: str) -> None:
    lines = "(F.max_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 3, 2, 1))"
    judge(reference(forward(lines), f"[torch.randn(2, 3, 9, 11, dtype=torch.{dtype})]"))


@pytest.mark.parametrize("line", ["F.max_pool2d(x, 3, 2, 1)", "F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)"])
def test_sizes_known_at_launch(line: str) -> None:
    judge(reference(forward(line), "[torch.randn(2, 3, 9, 11)]"), dynamic=True)
