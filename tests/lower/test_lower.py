"""What emitters share: folding, index arithmetic, proofs of range, ops and loops."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from akg_core.lower.access import place, segment, step
from akg_core.lower.build import body_of
from akg_core.lower.fold import fold
from akg_core.lower.ir import Body
from akg_core.lower.loops.nest import Block, Leaf, Loop, Plan, plan
from akg_core.lower.specialise import Instance, instances, renamed, specialise
from akg_core.sketch.affine import INDEX, Bounds, digits, polynomial
from akg_core.sketch.ast import Binary, Expr, Name, Number
from akg_core.sketch.check import require
from akg_core.sketch.parse import parse
from akg_core.sketch.schedule import bind
from akg_core.testing.emission.sketches import SCALE_THREE_TIMES


def op(symbol: str, left: Expr | int | str, right: Expr | int | str) -> Binary:
    return Binary(symbol, _expr(left), _expr(right), type=INDEX)


def _expr(value: Expr | int | str) -> Expr:
    return Number(value) if isinstance(value, int) else Name(value, type=INDEX) if isinstance(value, str) else value


def evaluate(expr: Expr, names: Mapping[str, int]) -> int:
    if isinstance(expr, Number):
        return int(expr.value)
    if isinstance(expr, Name):
        return names[expr.id]
    assert isinstance(expr, Binary)
    left, right = evaluate(expr.left, names), evaluate(expr.right, names)
    return {"+": left + right, "-": left - right, "*": left * right}.get(expr.op) or {
        "+": left + right,
        "-": left - right,
        "*": left * right,
        "//": left // right if right else 0,
        "%": left % right if right else 0,
    }[expr.op]


ATOMS = st.one_of(st.integers(-5, 9).map(Number), st.sampled_from("abn").map(Name))
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds(op, st.sampled_from("+-*"), inner, inner),
        st.builds(op, st.sampled_from(["//", "%"]), inner, st.integers(1, 7)),
    ),
    max_leaves=8,
)


@given(EXPRESSIONS, st.integers(0, 11), st.integers(0, 3), st.integers(0, 20))
def test_a_polynomial_has_the_value_of_its_expression(expr: Expr, a: int, b: int, n: int) -> None:
    names = {"a": a, "b": b, "n": n}
    total = 0
    for product, factor in polynomial(expr).terms:
        for atom in product:
            factor *= evaluate(atom, names)
        total += factor
    assert total == evaluate(expr, names)


@given(EXPRESSIONS)
def test_an_interval_holds_every_value(expr: Expr) -> None:
    bounds = Bounds({"a": Number(4), "b": Number(3)}, {"n": (Number(-2), Number(5))}, frozenset())
    low, high = bounds.interval(expr)
    for a, b, n in itertools.product(range(4), range(3), range(-2, 5)):
        value = evaluate(expr, {"a": a, "b": b, "n": n})
        assert (low is None or low <= value) and (high is None or value <= high)


def test_digits_of_a_split_come_together_again() -> None:
    b, h, w = digits(Name("p"), (Name("B"), Name("H"), Name("W")))
    assert place((b, h, w), (Name("B"), Name("H"), Name("W"))) == polynomial(Name("p"))
    bounds = Bounds({"p": op("*", op("*", "B", "H"), "W")}, {}, frozenset("BHW"))
    assert bounds.within(b, Name("B")) and bounds.within(h, Name("H")) and bounds.within(w, Name("W"))
    assert not bounds.within(w, Name("H"))


def test_ranges_by_name() -> None:
    bounds = Bounds({"g": Name("G"), "c": Name("C")}, {}, frozenset("GC"))
    assert bounds.within(op("+", op("*", "g", "C"), "c"), op("*", "G", "C"))
    assert not bounds.within(op("+", op("*", "g", "C"), op("+", "c", 1)), op("*", "G", "C"))
    assert not bounds.within(op("-", "c", 1), Name("C"))


@pytest.mark.parametrize(
    ("expr", "folded"),
    [
        (op("*", "n", 1), Name("n")),
        (op("+", 0, "n"), Name("n")),
        (op("%", "n", 1), Number(0)),
        (op("//", 7, 2), Number(3)),
        (op("//", 7, 0), op("//", 7, 0)),
        (op("-", -7, 2), Number(-9)),
        (Binary("/", Number(-1.5), Number(0.0)), Number(-math.inf)),
        (Binary("/", Number(2), Number(-0.0)), Number(-math.inf)),
    ],
)
def test_folding(expr: Expr, folded: Expr) -> None:
    assert fold(expr) == folded


def test_zero_by_zero_is_no_number() -> None:
    folded = fold(Binary("/", Number(0), Number(0.0)))
    assert isinstance(folded, Number) and math.isnan(folded.value)


# --- ops and plans ---


def lowered(text: str, **sizes: int) -> Body:
    kernel = bind(require(parse(text))).kernels[0]
    constants = {c.name: c.default for c in kernel.constants if c.default is not None}
    return body_of(specialise(kernel, constants, sizes, kernel.name))


def planned(text: str, **sizes: int) -> tuple[Body, Plan]:
    body = lowered(text, **sizes)
    return body, plan(body, body.regions[0].ops)


def shape(block: Block) -> list[object]:
    """A block as nested lists: "m" a loop over positions, "n:" one along the lanes, ops by kind."""
    found: list[object] = []
    for node in block.nodes:
        if isinstance(node, Loop):
            mark = ":" if node.lanes else "|" if node.unroll_and_jam else "/" if node.across else ""
            found.append([node.axis.name + mark, *shape(node.block)])
        elif isinstance(node, Leaf) and node.body is not None:
            found.append([node.op.kind, *shape(node.body)])
        else:
            found.append(node.op.kind)
    return found


HEAD = 'def k(x: In["f32", "M", "N"], y: Out["f32", "M", "N"]):'


def test_rows_run_outside_and_passes_share_what_they_can() -> None:
    body, made = planned(
        f"""
@kernel
{HEAD}
    for m in grid(M, 4):
        n = whole(N)
        t = load(x[m, n])
        e = exp(t - reduce_max(t, n))
        store(y[m, n], e / reduce_sum(e, n))
""",
        M=64,
        N=512,
    )
    assert shape(made.root) == [["m", ["n:", "reduce"], ["n:", "map", "reduce"], ["n:", "store"]]]
    kept = {value.name: axes for value, axes in made.kept.items()}
    assert kept == {"e": ("n",), "max": (), "sum": ()} or kept["e"] == ("n",)
    assert body.values["t"].definition is not None


def test_a_sum_down_columns_adds_several_rows_a_visit() -> None:
    _, made = planned(
        """
@kernel
def k(x: In["f32", "M", "N"], y: Out["f32", "N"]):
    for n in grid(N, 256):
        m = whole(M)
        store(y[n], reduce_sum(load(x[m, n]), m))
""",
        M=1000,
        N=512,
    )
    assert shape(made.root) == [["m|", ["n:", ["m", "reduce"]]], ["n:", "store"]]


def test_a_transpose_goes_by_squares() -> None:
    _, made = planned(
        """
@kernel
def k(x: In["f32", "M", "N"], y: Out["f32", "N", "M"]):
    for m in grid(M, 64):
        for n in grid(N, 64):
            store(y[n, m], load(x[m, n]))
""",
        M=256,
        N=256,
    )
    assert shape(made.root) == [["m:", ["n/", "store"]]]


def test_few_turns_stay_in_registers() -> None:
    _, made = planned(
        f"""
@kernel
{HEAD}
    for m in grid(M, 1):
        for n in grid(N, 64):
            best = full([m, n], -inf)
            for i in range(3):
                best = maximum(best, load(x[m, n + i - 1], other=-inf))
            store(y[m, n], best)
""",
        M=64,
        N=512,
    )
    assert shape(made.root) == [["n:", "map", ["range", "map"], "store"]]
    assert all(not axes for axes in made.kept.values())


def test_a_window_of_more_turns_stays_in_registers_under_lanes_along_the_results() -> None:
    _, made = planned(
        """
@kernel
def k(x: In["f32", 8, 68, 68], w: In["f32", 8, 5, 5], y: Out["f32", 8, 64, 64]):
    for c in grid(8, 1):
        for q in grid(64, 2):
            for r in grid(64, 64):
                i = whole(5)
                j = whole(5)
                store(y[c, q, r], reduce_sum(load(x[c, q + i, r + j]) * load(w[c, i, j]), (i, j)))
"""
    )
    assert shape(made.root) == [["q", ["r:", ["i", ["j", "reduce"]], "store"]]]


def test_short_segments_do_not_go_along_the_lanes() -> None:
    _, made = planned(
        """
@kernel
def k(w: In["f32", 32, 63], x: In["f32", 7, 64, 64], y: Out["f32", 32, 1024]):
    for m in grid(32, 32):
        for n in grid(1024, 256):
            k = whole(63)
            store(y[m, n], dot(load(w[m, k]), load(x[k // 9, n // 32 * 2 + k // 3 % 3 - 1, n % 32 * 2 + k % 3 - 1]),
                               over=k))
"""
    )
    assert shape(made.root)[0] == ["k", ["n:", "map"]]


def test_what_needs_only_positions_comes_before_a_loop_that_goes_on() -> None:
    """Weights along the lanes, computed once, and everything of a row in one loop."""
    _, made = planned(
        f"""
@kernel
{HEAD}
    for m in grid(M, 8):
        n = whole(N)
        near = exp(f32(m) * 0.1)
        first = load(x[m, n]) * near
        far = exp(f32(n) * 0.1) + exp(f32(n) * 0.2)
        store(y[m, n], exp(first) * far + exp(first + near) * far)
""",
        M=64,
        N=128,
    )
    assert shape(made.root) == [["n:", "map"], ["m", "map", ["n:", "store"]]]


def test_a_product_keeps_its_accumulator_and_the_columns_last() -> None:
    body, made = planned(
        """
@kernel
def k(a: In["f32", "M", "K"], b: In["f32", "K", "N"], y: Out["f32", "N", "M"]):
    for m in grid(M, 32):
        for n in grid(N, 32):
            acc = zeros([m, n])
            for k in tiles(K, 64):
                acc = dot(load(a[m, k]), load(b[k, n]), over=k, into=acc)
            store(y[n, m], acc)
""",
        M=256,
        N=256,
        K=256,
    )
    assert ["tiles", "dot"] in shape(made.root)
    assert made.kept[body.values["acc"]] == ("n", "m")  # stored along m


def test_what_nobody_reads_is_not_computed() -> None:
    body = lowered(
        f"""
@kernel
{HEAD}
    for m in grid(M, 1):
        n = whole(N)
        lost = reduce_sum(exp(load(x[m, n])), n)
        store(y[m, n], load(x[m, n]))
"""
    )
    assert [op.kind for op in body.regions[0].ops] == ["store"]


def test_a_padded_window_moves_evenly_in_segments() -> None:
    body = lowered(
        """
@kernel
def k(x: In["f32", 4, 9, 11], y: Out["f32", 4, 9, 11]):
    for p in grid(4 * 9 * 11, 64):
        c, h, w = split(p, (4, 9, 11))
        store(y[c, h, w], load(x[c, h - 1, w + 1]))
"""
    )
    (op,) = body.regions[0].ops
    assert op.expr is not None and op.element is not None
    indices = next(body.elements_of(op.expr)).indices
    dims = body.kernel.tensors[0].dims
    (axis,) = body.axes
    assert segment(body, indices, axis) == Number(11)
    assert step(body, place(indices, dims), axis, Number(11)) == polynomial(Number(1))
    assert step(body, place(op.element.indices, dims), axis) == polynomial(Number(1))


def test_reserved_names_are_changed_everywhere() -> None:
    text = """
@kernel
def k(float: In["f32", "int"], y: Out["f32", "int"]):
    for n in grid(int, 8):
        store(y[n], load(float[n]) + int)
"""
    kernel = bind(require(parse(text))).kernels[0]
    instance = renamed(Instance("k", kernel, ("int",), {}), {"float", "int"})
    assert instance.kernel.tensors[0].name == "float_" and instance.dimensions == ("int_",)
    assert renamed(instance, {"float", "int"}) is instance


def test_launches_with_equal_numbers_share_an_instance() -> None:
    found = instances(bind(require(parse(SCALE_THREE_TIMES))))
    assert [(call.index, instance.symbol) for call, instance in found] == [(0, "scale"), (1, "scale"), (2, "scale_2")]
    assert all(instance.known == {"N": 100} and not instance.open for _, instance in found)
