"""Indices, labels and flags that a file does not happen to draw, where any of them is meant."""

from __future__ import annotations

import pytest
import torch

from akg_core.records import Task
from akg_core.task.capture import capture
from akg_core.task.inputs import places
from akg_core.task.source.load import load_source
from tests.task.replay import reference_text

INPUTS = "torch.randn(16, 9), torch.randint(0, 4, (16, 9)), torch.rand(16, 9) > 0.5"


def task_of(body: str, inputs: str = INPUTS) -> Task:
    return capture(load_source(reference_text(body, inputs=inputs, arguments="x, t, m"), "ref"), eval=True)


def drawn(task: Task, kind: str) -> list[torch.Tensor]:
    one, other = ([torch.randn(16, 9), torch.randint(0, 4, (16, 9)), torch.rand(16, 9) > 0.5] for _ in range(2))
    return places.drawn(task, kind, one, other, 7)


@pytest.mark.parametrize(
    ("body", "least", "most"),
    [
        ("return x.gather(1, t)", 0, 8),
        ("return F.cross_entropy(x, t[:, 0])", -100, 8),  # to be ignored
        ("return (x * (t != 7)).sum()", 0, 7),
        ("return F.embedding(t, x) * (t != -1)[..., None]", 0, 15),  # where nothing stands before what is read
        ("return x.gather(1, t) * t", 0, 3),  # a number, too
        ("return (x * (torch.arange(9) < t[:, :1])).sum(1)", 1, 9),  # lengths
    ],
)
def test_an_index_may_be_any_that_is_in_range(body: str, least: int, most: int) -> None:
    found = drawn(task_of(body), places.KINDS[0])[1]
    assert (int(found.min()), int(found.max())) == (least, most)


def test_rows_are_all_of_one_flag_where_flags_come_by_chance() -> None:
    task = task_of("return x.masked_fill(m, 0)")
    assert places.asked(task) == ["all flags", "no flags"]
    flags, none = (drawn(task, kind)[2] for kind in places.KINDS[1:3])
    assert bool(flags.all(1).any()) and not bool(none.any(1).all())
    causal = torch.ones(9, 9, dtype=torch.bool).tril()
    values = [torch.randn(9, 9), torch.zeros(9, 9, dtype=torch.int64), causal]
    other = places.drawn(task, "all flags", values, values, 7)[2]
    assert not torch.equal(other, causal) and bool((other.any(1) & ~other.all(1)).all()), "no row is of one flag then"


@pytest.mark.parametrize(("mask", "is_one"), [("tril(0)", True), ("triu(1) * -1e9", True), ("cumsum(0)", False)])
def test_what_is_always_the_same_two_numbers_is_a_mask(mask: str, is_one: bool) -> None:
    values = [eval(f"torch.ones(9, 9).{mask}")]
    assert places.is_masked(values) == is_one
    if is_one:
        task = capture(load_source(reference_text("return x + 1", inputs="torch.ones(9, 9).tril()"), "ref"), eval=True)
        other = places.drawn(task, "no flags", values, values, 7)[0]
        assert not torch.equal(other, values[0]) and torch.equal(other.unique(), values[0].unique())


def test_a_segment_may_be_empty_and_a_length_zero() -> None:
    task = task_of(
        "return x[0] + torch.searchsorted(t[0], x[0])", inputs=INPUTS.replace("(16, 9)),", "(16, 9)).sort(1)[0],")
    )
    found = drawn(task, places.KINDS[0])[1]
    assert bool((found.diff(dim=1)[:, 1:-1:2] == 0).all())
    lengths = task_of("return (x * (torch.arange(9) < t[:, :1])).sum(1)")
    assert places.asked(lengths)[-1] == places.KINDS[-1] and int(drawn(lengths, places.KINDS[-1])[1].min()) == 0
