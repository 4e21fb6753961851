"""Rows that a loop looks up: which memory is known some turns before, and what is carried around a loop."""

from __future__ import annotations

import pytest

from akg_core.lower.ir import Body, Op
from akg_core.lower.loops.lanes import positions_a_turn
from akg_core.lower.loops.look_ahead import Lookup, lookups
from akg_core.sketch.ast import Name
from tests.lower.test_loops import body

ROWS = """
@kernel
def f(index: In["i64", 4096], shared: In["i64", 1], table: In["f32", {rows}, 64], y: Out["f32", 4096, 64]):
    for m in grid(4096, 32):
        p = whole(64)
        store(y[m, p], load(table[{place}, p]))
"""
BAGS = """
@kernel
def f(index: In["i64", 512, 40], table: In["f32", 100000, {width}], y: Out["f32", 512, {width}]):
    for m in grid(512, 1):
        n = whole(40)
        p = whole({width})
        store(y[m, p], {value})
"""


def looked_up(place: str, rows: int = 100_000) -> tuple[Body, list[Lookup]]:
    made = body(ROWS.format(place=place, rows=rows))
    return made, lookups(made, made.ops(), "m")


def test_a_row_at_a_looked_up_place_is_known_ahead() -> None:
    made, (found,) = looked_up("load(index[m])")
    assert (found.tensor, found.elements) == ("table", 64)
    assert [call.op for call in found.indices] == ["load"]
    assert Name("p") not in found.row.atoms()  # it begins where the row does
    assert not lookups(made, made.ops(), "p")  # along which nothing is looked up


@pytest.mark.parametrize(
    ("place", "rows"),
    [
        ("m", 100_000),  # the processor finds out itself
        ("load(shared[0])", 100_000),  # does not move
        ("load(index[4095 - m])", 100_000),  # goes back
        ("load(index[m + 1])", 100_000),  # may lie outside
        ("load(index[load(index[m])])", 100_000),  # is known when another is
        ("load(index[m])", 1_000),  # stays in a cache
    ],
)
def test_what_is_not_asked_for_ahead(place: str, rows: int) -> None:
    assert not looked_up(place, rows)[1]


def bag(value: str, width: int) -> tuple[Body, list[Op]]:
    made = body(BAGS.format(value=value, width=width))
    return made, [op for op in made.ops() if op.kind in ("reduce", "store")]


@pytest.mark.parametrize(("width", "positions"), [(64, 64), (512, 128), (96, 32), (100, 4)])
def test_what_a_loop_around_carries_is_kept_whole(width: int, positions: int) -> None:
    made, (total, store) = bag("reduce_sum(load(table[load(index[m, n]), p]), n)", width)
    assert positions_a_turn(made, [total], "p", frozenset({"m", "n"})) == positions
    assert not positions_a_turn(made, [total], "p", frozenset({"m"}))  # it sums inside of the loop over p
    assert not positions_a_turn(made, [store], "p", frozenset({"m"}))  # which carries nothing


def test_long_work_and_sums_along_the_lanes_are_not_unrolled() -> None:
    made, (total, _) = bag("reduce_sum(exp(tanh(load(table[load(index[m, n]), p]))), n)", 64)
    assert not positions_a_turn(made, [total], "p", frozenset({"m", "n"}))
    made, (total, _) = bag("reduce_sum(load(table[load(index[m, n]), p]), n)", 64)
    assert not positions_a_turn(made, [total], "n", frozenset({"m"}))


def test_a_place_that_a_search_of_many_steps_finds_is_not_spelled_out() -> None:
    """Of each of which the formula has that of the one before three times."""
    steps = "\n".join(
        f"        is_{n} = load(x[t_{n}]) < load(y[m])\n"
        f"        t_{n + 1} = where(is_{n}, t_{n} + {7 * n}, t_{n}) & 4095"
        for n in range(30)
    )
    text = f"""
@kernel
def f(x: In["f32", 4096], y: In["f32", 4096], z: Out["f32", 4096]):
    for m in grid(4096, 32):
        t_0 = m & 255
{steps}
        store(z[m], load(x[t_30]))
"""
    made = body(text)
    assert not lookups(made, made.ops(), "m")
