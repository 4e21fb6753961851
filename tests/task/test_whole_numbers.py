"""Whole numbers take all of their bits where they are numbers, and stay what the file draws where they mean a place."""

from __future__ import annotations

import pytest
import torch

from akg_core.records import Task
from akg_core.task.capture import capture
from akg_core.task.inputs.whole_numbers import enlarged, free
from akg_core.task.source.load import load_source
from tests.task.replay import reference_text

ROWS = "torch.randint(-9, 9, (8, 64))"


def task_of(body: str, inputs: str = ROWS, arguments: str = "x") -> Task:
    return capture(load_source(reference_text(body, inputs=inputs, arguments=arguments), "ref"), eval=True)


@pytest.mark.parametrize(
    "body",
    [
        "return x + 1",
        "return x.sum(1)",
        "return x * y",
        "return x.amax(1)",
        "return (x * x).sum(1)",
        "return x.sort()[0]",
        "return torch.where(x > 3, x, y)",
        "return x // 7",
        "return x.cumsum(1) & y",
    ],
)
def test_arithmetic_takes_numbers_that_32_bits_do_not_hold(body: str) -> None:
    task = task_of(body, f"{ROWS}, {ROWS}", "x, y")
    values = [torch.randint(-9, 9, (8, 64)), torch.randint(-9, 9, (8, 64))]
    large = enlarged(task, values, 5)[0]
    assert large.dtype == torch.int64 and bool((large.abs() > 1 << 31).any()) and bool((large.abs() < 9).any())
    assert bool((large < 0).any()) and len(set((large % 1024).flatten().tolist())) > 100


def test_sums_and_products_stay_within_the_dtype_where_the_order_of_numbers_matters() -> None:
    task, values = task_of("return (x * y).sort()[0]", f"{ROWS}, {ROWS}", "x, y"), [torch.randint(2, 9, (8, 64))] * 2
    large, other = enlarged(task, values, 5)
    exact = [a * b for a, b in zip(large.flatten().tolist(), other.flatten().tolist(), strict=True)]
    assert (large * other).flatten().tolist() == exact and max(exact) > 1 << 61
    sums = task_of("return x.sum(1).sort()[0]")
    rows = enlarged(sums, [torch.randint(2, 9, (8, 64))], 5)[0]
    assert rows.sum(1).tolist() == [sum(row) for row in rows.tolist()]
    assert free(task_of("return (x * y).sum(1).sort()[0]", f"{ROWS}, {ROWS}", "x, y")) == {}


def test_what_is_summed_in_more_bits_than_it_has_is_large() -> None:
    for dtype, bits in ((torch.int32, 31), (torch.int16, 15), (torch.uint8, 8)):
        task = task_of("return x.sum(1)", f"torch.randint(9, (8, 64), dtype={dtype})")
        rows = enlarged(task, [torch.randint(2, 5, (8, 64), dtype=dtype)], 5)[0]
        assert rows.dtype == dtype and int(rows.sum(1).max()) > 1 << bits and (int(rows.min()) < 0) == dtype.is_signed


@pytest.mark.parametrize(
    ("body", "inputs"),
    [
        ("return y.gather(1, x)", "torch.randint(64, (8, 64)), torch.randn(8, 64)"),
        ("return y[x[:, 0] + 1]", "torch.randint(7, (8, 64)), torch.randn(8, 64)"),
        ("return F.embedding(x, y)", "torch.randint(9, (8, 64)), torch.randn(9, 4)"),
        ("return F.one_hot(x, 9) + y", "torch.randint(9, (8, 64)), torch.randint(9, (8, 64, 9))"),
        ("return y * (torch.arange(64) < x[:, None])", "torch.randint(2, 64, (8,)), torch.randn(8, 64)"),
        ("return F.cross_entropy(y, x)", "torch.randint(9, (8,)), torch.randn(8, 9)"),
        ("return torch.cos(x.float()) + y", "torch.randint(9, (8, 64)), torch.randn(8, 64)"),
        ("return x.to(torch.int32) + y.to(torch.int32)", f"{ROWS}, torch.randn(8, 64)"),
    ],
)
def test_places_lengths_labels_and_what_becomes_real_are_left(body: str, inputs: str) -> None:
    assert "x" not in free(task_of(body, inputs, "x, y"))


def test_flags_stay() -> None:
    flags = torch.randint(2, (8, 64))
    assert enlarged(task_of("return x.sum(1)", "torch.randint(2, (8, 64))"), [flags], 5)[0].equal(flags)
