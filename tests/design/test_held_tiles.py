"""A chip whose programs hold whole tiles: windows tap by tap, long rows by several programs, few rows at a time."""

from __future__ import annotations

import pytest

from tests.design.judging import HELD, designed, forward, judge, reference
from tests.design.test_pooling import AVERAGES, MAXIMA


@pytest.mark.parametrize(("line", "shape"), [*MAXIMA.items(), *AVERAGES.items()])
def test_pools(line: str, shape: str) -> None:
    judge(reference(forward(line), f"[torch.randn{shape}]"), traits=HELD)


@pytest.mark.parametrize(
    ("line", "shape", "rows"),
    [
        ("F.max_pool2d(x, 4, 1, 1)", "(3, 20, 40)", 8),
        ("F.avg_pool3d(x, 3, 2, 1)", "(2, 3, 9, 10, 40)", 2),
        ("F.max_pool2d(x, 3, 3)", "(3, 20, 40)", 0),
        ("F.avg_pool1d(x, 8, 1, 4)", "(3, 20, 40)", 0),
    ],
)
def test_rows_of_overlapping_windows_are_made_by_one_program(line: str, shape: str, rows: int) -> None:
    source = reference(forward(line), f"[torch.randn{shape}]")
    judge(source, traits=HELD)
    text = designed(source, HELD)
    assert (f"unroll={rows}" in text) if rows else ("unroll" not in text)


ROWS = {
    "x.softmax(1)": "(9, 1000)",
    "F.log_softmax(x, 1)": "(9, 1024)",
    "x / x.abs().mean(1, keepdim=True)": "(9, 1023)",
    "F.normalize(x, dim=1, eps=0.0)": "(9, 700)",
    "F.instance_norm(x)": "(3, 3, 20, 32)",
    "F.group_norm(x, 2, weight=x[0, :, 0, 0], bias=x[1, :, 0, 0])": "(5, 4, 16, 32)",
    "(x - x.amax(1, keepdim=True)) * x.amin(1, keepdim=True)": "(9, 1000)",
}


@pytest.mark.parametrize(("line", "shape"), ROWS.items())
def test_long_rows_are_held_by_programs_that_meet(line: str, shape: str) -> None:
    source = reference(forward(line), f"[torch.randn{shape}]")
    judge(source, traits=HELD)
    text = designed(source, HELD)
    assert "cooperative=True" in text and "tiles(" not in text


def test_no_more_programs_meet_than_run_together() -> None:
    source = reference(forward("x.softmax(1)"), "[torch.randn(9, 1024)]")
    assert "all_reduce_max" in designed(source, HELD)
    assert "all_reduce" not in designed(source, HELD.model_copy(update={"co_resident": 4}))
    assert "all_reduce" not in designed(source, HELD.model_copy(update={"register_tiles": False}))


@pytest.mark.parametrize("line", ["x.sum(1)", "x.mean(1)", "x.amax(1)", "x.max(1)[0]", "x.argmax(1)", "x.var(1)"])
def test_many_rows_become_lines_of_results(line: str) -> None:
    for shape in ("(3, 50, 70)", "(3, 2000, 70)"):
        judge(reference(forward(line), f"[torch.randn{shape}]"), traits=HELD)


@pytest.mark.parametrize("line", ["x.sum(1)", "x.amin(1)", "x.var(1)", "x.softmax(1)", "(x * x[:1]).mean(1)"])
def test_many_columns_are_gone_down_by_a_program_each(line: str) -> None:
    source = reference(forward(line), "[torch.randn(4, 40, 70)]")
    judge(source, traits=HELD)
    text = designed(source, HELD)
    assert "stages=4" in text and text.count("@kernel") == 1
    assert "stages" not in designed(reference(forward(line), "[torch.randn(3, 40, 70)]"), HELD)
    assert "stages" not in designed(source, HELD.model_copy(update={"register_tiles": False}))


def test_programs_that_share_a_row_go_through_few_tiles_each() -> None:
    source = reference(forward("x.sum()"), "[torch.randn(100000)]")
    few = HELD.model_copy(update={"units": 2})
    assert "for g in grid(100000, 1024):" in designed(source, few)
    assert "for g in grid(100000, 1024):" not in designed(source, few.model_copy(update={"register_tiles": False}))


def test_places_that_nobody_asks_for_are_not_looked_for() -> None:
    for traits in (HELD, HELD.model_copy(update={"register_tiles": False})):
        for shape in ("(3, 2000, 70)", "(3, 50, 70)"):
            text = designed(reference(forward("x.max(1)[0]"), f"[torch.randn{shape}]"), traits)
            assert "reduce_max" in text and "argmax" not in text


@pytest.mark.parametrize(
    ("line", "narrow"),
    [
        ("x.cumsum(1)", True),
        ("x.flip(1).cumsum(1).flip(1) * 2", True),
        ("x.cumprod(1)", False),  # wide all the way: its rounding errors multiply
        ("x.double().cumsum(1)", False),
        ("x.cummax(1)", False),
    ],
)
def test_running_sums_are_wide_only_from_tile_to_tile(line: str, narrow: bool) -> None:
    source = reference(forward(line), "[torch.rand(30, 70) + 0.5]")
    judge(source, traits=HELD)
    assert ("f32(before)" in designed(source, HELD)) == narrow
    assert "f32(before)" not in designed(source)


BEFORE = {
    "torch.cat((torch.zeros(5, 1), x[:, :-1].cumsum(1)), 1)": 1,
    "torch.cat((torch.ones(5, 2), x[:, 3:].cumprod(1)), 1)": 1,
    "torch.cat((x[:, 1:].flip(1).cumsum(1).flip(1), torch.zeros(5, 1)), 1)": 1,
    "torch.cat((torch.ones(5, 1), x[:, :-1].cumsum(1)), 1)": 2,
    "torch.cat((x.cumsum(1), torch.zeros(5, 1)), 1)": 1,  # the zeros are there from the start
}


@pytest.mark.parametrize(("line", "kernels"), BEFORE.items())
def test_sums_of_what_comes_before_are_one_running_sum(line: str, kernels: int) -> None:
    source = reference(forward(line), "[torch.rand(5, 70) + 0.5]")
    judge(source, traits=HELD)
    assert designed(source).count("@kernel") == kernels
