"""Tensors without elements, which have shapes and dtypes like any other."""

from __future__ import annotations

import pytest

from tests.design.judging import forward, judge, reference

LINES = [
    "torch.relu(x)",
    "(x + x.transpose(0, 1)).contiguous()",
    "x.sum(1)",
    "x.reshape(-1)",
    "torch.softmax(x, 2)",
    "torch.cat([x, x])",
]


@pytest.mark.parametrize("shape", [(3, 3, 0), (0, 0, 3), (4, 4, 0), (0, 0, 0)], ids=str)
@pytest.mark.parametrize("line", LINES)
def test_nothing_is_made_of_nothing(line: str, shape: tuple[int, ...]) -> None:
    judge(reference(forward(line), f"[torch.randn({shape})]"))


def test_a_sum_of_nothing_is_zero() -> None:
    judge(reference(forward("x.sum(1)"), "[torch.randn(3, 0)]"))
    judge(reference(forward("x @ y", "x, y"), "[torch.randn(3, 0), torch.randn(0, 4)]"))
