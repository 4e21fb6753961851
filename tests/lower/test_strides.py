"""How far indices may move a position, against what they do; and what lies between their ends."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from akg_core.lower.ir import Axis, Body
from akg_core.lower.loops.strides import drift
from akg_core.sketch.affine import INDEX, Bounds
from akg_core.sketch.ast import Binary, Call, Expr, Name, Number, Text, Type
from akg_core.sketch.parse import parse

EXTENT = 23
REAL = Type(dtype="f32")
WEAK = Type(dtype="f64", uniform=True, weak=True)


def bounds() -> Bounds:
    return Bounds({"p": Number(EXTENT), "a": Number(4)}, {}, frozenset())


def body() -> Body:
    """A body of two axes, which is all that a drift asks for."""
    sizes = {"p": EXTENT, "a": 4}
    axes = {n: Axis(n, Number(size), Number(0), Number(size), size) for n, size in sizes.items()}
    kernel = parse('@kernel\ndef k(x: In["f32", 4]):\n    for p in grid(4):\n        pass\n').kernels[0]
    return Body(kernel, [], {}, axes, bounds())


def call(op: str, *args: Expr) -> Call:
    return Call(op, args, type=INDEX)


def binary(op: str, left: Expr, right: Expr) -> Binary:
    return Binary(op, left, right, type=INDEX)


ATOMS = st.one_of(st.integers(-5, 30).map(Number), st.sampled_from("pa").map(Name))
POSITIVE = st.integers(1, 7).map(Number)
INDICES = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds(binary, st.sampled_from("+-*"), inner, inner),
        st.builds(binary, st.sampled_from(["//", "%"]), inner, POSITIVE),
        st.builds(lambda x: call("abs", x), inner),
        st.builds(call, st.sampled_from(["maximum", "minimum"]), inner, inner),
    ),
    max_leaves=7,
)


def value(expr: Expr, p: int, a: int) -> int:
    if isinstance(expr, Number):
        return int(expr.value)
    if isinstance(expr, Name):
        return {"p": p, "a": a}[expr.id]
    if isinstance(expr, Call):
        found = [value(x, p, a) for x in expr.args]
        return abs(found[0]) if expr.op == "abs" else (max if expr.op == "maximum" else min)(found)
    assert isinstance(expr, Binary)
    left, right = value(expr.left, p, a), value(expr.right, p, a)
    if expr.op in ("//", "%"):
        return left // right if expr.op == "//" else left % right
    return {"+": left + right, "-": left - right, "*": left * right}[expr.op]


@given(INDICES)
def test_a_drift_holds_every_gain(expr: Expr) -> None:
    low, high = drift(body(), expr, "p")
    for p, a in itertools.product(range(EXTENT - 1), range(4)):
        gain = value(expr, p + 1, a) - value(expr, p, a)
        assert (low is None or low <= gain) and (high is None or gain <= high)


@given(INDICES)
def test_an_interval_holds_every_value(expr: Expr) -> None:
    low, high = bounds().interval(expr)
    for p, a in itertools.product(range(EXTENT), range(4)):
        assert (low is None or low <= value(expr, p, a)) and (high is None or value(expr, p, a) <= high)


def scaled(by: float, past: float) -> Expr:
    """i64((f32(p) + past) * by - past), as resizing has it."""
    moved = Binary(
        "+", Call("cast", (Name("p", type=INDEX), Text("f32")), type=REAL), Number(past, type=WEAK), type=REAL
    )
    there = Binary("*", moved, Number(by, type=WEAK), type=REAL)
    return call("cast", Binary("-", there, Number(past, type=WEAK), type=REAL), Text("i64"))


@pytest.mark.parametrize(("by", "past"), [(0.5, 0.0), (0.4418604651162791, 0.5), (2.0, 0.5), (-0.25, 0.0)])
def test_rounded_positions_keep_their_order_and_their_range(by: float, past: float) -> None:
    expr = scaled(by, past)
    places = [math.trunc((p + past) * by - past) for p in range(EXTENT)]
    low, high = bounds().interval(expr)
    assert low is not None and high is not None
    assert min(places) - 1 <= low <= min(places) and max(places) <= high <= max(places) + 1
    assert drift(body(), expr, "p") == ((0, None) if by > 0 else (None, 0))


def test_a_border_that_mirrors_is_inside_and_goes_by_ones() -> None:
    side = 17
    inner = call("abs", binary("-", Name("p"), Number(3)))
    outer = call("abs", binary("-", Number(side - 1), inner))
    place = binary("-", Number(side - 1), outer)
    assert bounds().within(place, Number(side)) and not bounds().within(place, Number(side - 1))
    assert drift(body(), place, "p") == (-1, 1)
