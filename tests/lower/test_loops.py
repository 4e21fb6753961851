"""What loops over positions and lanes count on: accumulators, programs of a grid, how lanes reach memory."""

from __future__ import annotations

import pytest

from akg_core.lower.access import place
from akg_core.lower.build import body_of
from akg_core.lower.explicit import hold, make_explicit
from akg_core.lower.fold import product
from akg_core.lower.ir import Body, Op
from akg_core.lower.loops.grid import positions, tiles_of, uneven
from akg_core.lower.loops.lane_access import Check, LaneAccess, lane_access, order
from akg_core.lower.loops.lanes import on_lines, vectors_a_turn
from akg_core.lower.specialise import instances
from akg_core.records import Schedule
from akg_core.sketch.ast import Call, Element, Name, Number
from akg_core.sketch.check import require
from akg_core.sketch.parse import parse
from akg_core.sketch.schedule import bind
from akg_core.sketch.show import show_expression


def body(text: str) -> Body:
    """The only kernel of a sketch, as loops are made of it."""
    (_, instance), *_ = instances(bind(require(parse(text, "sketch"), "sketch"), Schedule()))
    return body_of(instance)


def held(line: str, dtype: str) -> Op:
    """A reduction or scan of rows of `dtype`, once it is known how it is held."""
    made = body(f"""
@kernel
def f(x: In["{dtype}", 8, 100], y: Out["{dtype}", 8, 100]):
    for m in grid(8, 1):
        n = whole(100)
        store(y[m, n], {line})
""")
    make_explicit(made)
    hold(made)
    (found,) = (op for op in made.ops() if op.kind in ("reduce", "scan"))
    return found


@pytest.mark.parametrize(
    ("line", "dtype", "accumulator", "identity"),
    [
        ("load(x[m, n]) - reduce_sum(load(x[m, n]), n)", "f32", "f32", 0),
        ("load(x[m, n]) - reduce_sum(load(x[m, n]), n)", "bf16", "f32", 0),
        ("load(x[m, n]) - reduce_max(load(x[m, n]), n)", "f16", "f16", float("-inf")),
        ("load(x[m, n]) - reduce_min(load(x[m, n]), n)", "i32", "i32", 2**31 - 1),
        ("scan_sum(load(x[m, n]), n)", "f32", "f64", 0),
        ("scan_prod(load(x[m, n]), n)", "i64", "i64", 1),
    ],
)
def test_an_accumulator_has_a_dtype_and_a_beginning(line: str, dtype: str, accumulator: str, identity: float) -> None:
    op = held(line, dtype)
    assert op.start is not None and op.start.type is not None and op.expr is not None and op.expr.type is not None
    assert (op.start.type.dtype, op.start.value) == (accumulator, identity)
    assert op.expr.type.dtype == accumulator  # what it reads is converted already
    assert isinstance(op.expr, Call) and (op.expr.op == "cast") == (dtype != accumulator)


def test_an_arg_reduction_is_held_in_the_dtype_of_what_it_compares() -> None:
    op = held("f32(argmax(load(x[m, n]), n))", "f32")
    assert op.start is not None and op.start.type is not None and op.start.type.dtype == "f32"


TRIANGLE = """
@kernel
def f(x: In["f32", 6, 100, 64], y: Out["f32", 6, 100]):
    for b in grid(6, 1):
        for m in grid(100, 8):
            total = zeros([b, m], "f32")
            for n in tiles(64, 16, start=0, stop={stop}):
                total = total + reduce_sum(load(x[b, m, n]), n)
            store(y[b, m], total)
"""


def test_programs_count_the_last_axis_first() -> None:
    (region,) = body(TRIANGLE.format(stop="64")).regions
    counts = [tiles_of(axis) for axis in region.grid]
    assert counts == [Number(6), Number(13)] and product(counts) == Number(78)
    assert {axis.name: show_expression(tile) for axis, tile in positions(region)} == {
        "m": "program % 13",
        "b": "program // 13",
    }


def test_programs_take_unequal_time_where_a_loop_ends_at_what_a_program_has() -> None:
    for stop, expected in (("64", False), ("end(m)", True)):
        (region,) = body(TRIANGLE.format(stop=stop)).regions
        assert uneven(region) == expected


LINES = """
@kernel
def f(x: In["f32", 8, 100], places: In["i64", 100], y: Out["f32", 8, 100], z: Out["f32", 100, 8]):
    for m in grid(8, 1):
        n = whole(100)
        at = load(places[n])
        store(y[m, n], {value})
        store(z[n, m], load(x[m, n]))
"""


def reached(value: str, number: int = -1) -> tuple[Body, LaneAccess]:
    """How lanes along `n` reach x in a value, by the last load of x in it."""
    made = body(LINES.format(value=value))
    loads = [c for op in made.ops() for e in op.expressions() for c in made.loads_of(e)]
    elements = [e for e in (c.args[0] for c in loads[:-1]) if isinstance(e, Element) and e.tensor == "x"]
    return made, lane_access(made, elements[number], "n")


def test_lanes_reach_neighbours_one_element_or_anything() -> None:
    _, next_to = reached("load(x[m, n])")
    assert next_to.contiguous and not next_to.single and not next_to.checks
    _, shared = reached("load(x[m, 3])")
    assert shared.single and shared.step is not None and shared.step.constant == 0
    _, apart = reached("load(x[m, n * 2])")
    assert apart.step is not None and apart.step.constant == 2 and not apart.contiguous
    assert apart.checks == (Check(apart.checks[0].index, Number(100), 2),)
    _, anywhere = reached("load(x[m, at])")
    assert anywhere.step is None and [check.step for check in anywhere.checks] == [None]
    assert anywhere.own.atoms() and all(isinstance(a, Name) for a in anywhere.own.atoms())


def test_what_lanes_share_is_not_computed_a_lane() -> None:
    """The row of a gathered element is one for all lanes: it belongs to the base, not to what each lane adds."""
    made, access = reached("load(x[m, minimum(n // 2, 40)])")
    assert access.step is None and access.base.atoms() == {Name("m")}
    assert access.base + access.own == place(access_indices(made), (Number(8), Number(100)))
    assert order(made, access, "n") == "monotonic"


def access_indices(made: Body) -> tuple:
    (element,) = (
        call.args[0]
        for op in made.ops()
        for expr in op.expressions()
        for call in made.loads_of(expr)
        if isinstance(call.args[0], Element) and any(isinstance(i, Call) for i in call.args[0].indices)
    )
    return element.indices


def test_places_may_be_known_to_go_one_by_one_or_not_at_all() -> None:
    for value, known in (("load(x[m, n % 7])", "one by one"), ("load(x[m, at])", "")):
        made, access = reached(value)
        assert order(made, access, "n") == known


def test_a_check_that_all_lanes_share_is_told_from_one_of_each() -> None:
    _, access = reached("load(x[m - 1, n + 1])")
    assert [check.step for check in access.checks] == [0, 1]
    made = body(LINES.format(value="load(x[m, n])"))
    single = lane_access(made, Element("x", (Name("m"), Number(3))), None)
    assert single.single and not single.checks


def test_a_sum_takes_several_vectors_a_turn_and_a_store_one() -> None:
    made = body(TRIANGLE.format(stop="64"))
    ops = [inner for op in made.ops() for inner in op.inside()]
    assert vectors_a_turn(made, (op for op in ops if op.kind == "reduce"), "n") == 4
    assert vectors_a_turn(made, (op for op in ops if op.kind == "store"), "m") == 1


def test_vectors_lie_on_lines_where_rows_are_long_enough() -> None:
    for width, expected in ((128, True), (100, False)):
        made = body(LINES.replace("100", str(width)).format(value="load(x[m, n])"))
        (store, *_) = (op for op in made.ops() if op.kind == "store")
        assert store.element is not None
        where = place(store.element.indices, (Number(8), Number(width)))
        assert on_lines(made, where, "n", None, 16) == expected
