"""Counts of numbers are as many as is said, where forward says that no number asks for more; else they are refused."""

from __future__ import annotations

import pytest

from akg_core.errors import TaskError
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from tests.design.judging import forward, judge, reference

INPUTS = "[torch.randint(0, 9, (50,)), torch.randn(50)]"
BOUNDED = [
    "(x % 9).bincount(minlength=9)", "torch.bincount(x.clamp(max=8), w, minlength=9)",
    "torch.bincount(x.clamp(0, 8), weights=w.double(), minlength=12).cumsum(0)",
    "torch.bincount(w.view(5, 10).topk(2).indices.flatten(), minlength=10)",
    "torch.bincount(w.view(5, 10).argmax(1).int(), minlength=10)",
    "torch.bincount(w.view(5, 10).argsort(1)[:, :3].reshape(-1), minlength=10)",
    "torch.bincount(torch.minimum(x, torch.full_like(x, 4)) * 9 + x % 9, minlength=45)",
    "torch.bincount(torch.bucketize(w, torch.tensor([-1.0, 0.0, 1.0])), minlength=4)",
    "torch.bincount((w > 0).long(), minlength=2)", "torch.bincount(x.to(torch.uint8), minlength=256)",
    "torch.bincount(torch.where(w > 0, 3, 1), minlength=4)",
    "torch.bincount(torch.tensor([0, 3, 3]), minlength=4) + x[:4]",
    "torch.bincount(x.clamp(20, 3), minlength=4)",
    "torch.bincount(torch.cat([x % 3, x & 7]), minlength=8)",
    "torch.bincount(x, minlength=9)[:-1].sqrt() * w[:8]", "(torch.bincount(x.view(-1), minlength=9), w[:9][x])",
    "(torch.bincount(x.view(2, 25)[1], minlength=9), w[:9].scatter(0, x.view(2, 25)[1], 1.0))",
    "torch.mv(w[:45].view(5, 9), torch.bincount(x, minlength=9).float())",
    "torch.bincount(x, minlength=9)[:9]", "torch.bincount(x, minlength=9)[:8] * w[:8]",
    "(n := torch.bincount(x, w, 9))[1:4] / n[8]",
    "torch.bincount(x, minlength=9).reshape(3, 3).float().diag()", "torch.bincount(x[w > 0], minlength=9)[:6]",
]  # fmt: skip
UNBOUNDED = [
    "torch.bincount(x, minlength=9)", "torch.bincount(x % 10, minlength=9)",
    "torch.bincount(x.clamp(max=9), minlength=9)", "torch.bincount((x % 3).clamp(min=9), minlength=9)",
    "torch.bincount(w.abs().remainder(9).long(), minlength=9)", "torch.bincount(x.to(torch.int8), minlength=127)",
    "torch.bincount(w.view(5, 10).topk(2).indices.flatten(), minlength=9)",
    "torch.bincount(x % 5 + x % 5, minlength=8)",
    "torch.bincount((w.clamp(max=2.5) + w.clamp(max=2.5)).long(), minlength=5)",
    "torch.bincount((x - 300).to(torch.uint8), minlength=9)", "torch.bincount(torch.where(w > 0, x, 1), minlength=9)",
    "((n := torch.bincount(x, minlength=9))[:3], n)", "(n := torch.bincount(x, minlength=9))[x] + n.sum()",
    "torch.bincount(x, minlength=9)[2:]", "torch.bincount(x, minlength=9)[:10]", "sum(torch.bincount(x, minlength=9))",
    "torch.bincount(x, minlength=9).view(3, -1)", "torch.bincount(x, minlength=9)[:-3]",
    "torch.bincount(x, minlength=9) * w[0]", "torch.bincount(x, minlength=9).log().add(1)",
]  # fmt: skip


@pytest.mark.parametrize("line", BOUNDED)
def test_counts_are_as_many_as_is_said(line: str) -> None:
    judge(reference(forward(line, "x, w"), INPUTS))


@pytest.mark.parametrize("line", UNBOUNDED)
def test_numbers_that_may_have_no_count_are_refused(line: str) -> None:
    with pytest.raises(TaskError, match=r"line 9: `\S*bincount` counts more numbers than minlength says"):
        capture(load_source(reference(forward(line, "x, w"), INPUTS), "reference"))


def test_as_many_as_a_size_says() -> None:
    judge(reference(forward("torch.bincount(x.argmax(1), minlength=x.shape[1])"), "[torch.randn(30, 7)]"), dynamic=True)
