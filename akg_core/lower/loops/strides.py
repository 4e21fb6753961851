"""How far an index may move from one position of an axis to the next, where it does not move evenly.

Pixels that a resizing reads again, edges that a border repeats or mirrors: such indices have no step, but they gain at
least 0, or at most 1, a position. What never falls stays between the places of the first and the last lane; what gains
at most 1 and gained 1 for every position in between went one by one.
"""

from __future__ import annotations

from akg_core.dtypes import is_float
from akg_core.lower.ir import Body
from akg_core.sketch.affine import Polynomial
from akg_core.sketch.ast import Binary, Call, Expr, Name, Text, Unary
from akg_core.sketch.ranges import added, either, negated

Drift = tuple[int | None, int | None]  # the least and the greatest gain a position; None where it is not known
STILL: Drift = (0, 0)
UNKNOWN: Drift = (None, None)
_KEEPS_ORDER = ("floor", "ceil", "trunc")


def place_drift(body: Body, place: Polynomial, axis: str) -> Drift:
    """The drift of a flat place along `axis`."""
    total = STILL
    for product, factor in place.terms:
        moving = [atom for atom in product if axis in body.axes_of(atom)]
        if not moving:
            continue
        if len(moving) > 1:
            return UNKNOWN
        gain = drift(body, moving[0], axis)
        for atom in product:
            if atom is not moving[0]:
                gain = _scaled(gain, body.bounds.interval(atom))
        total = added(total, _scaled(gain, (factor, factor)))
    return total


def drift(body: Body, expr: Expr, axis: str) -> Drift:
    """The drift of an index along `axis`. Rounding keeps order, so of floats the sign is known."""
    if axis not in body.axes_of(expr):
        return STILL
    found = UNKNOWN
    if isinstance(expr, Name):
        formula = body.bounds.formulas.get(expr.id)
        found = (1, 1) if expr.id == axis else UNKNOWN if formula is None else drift(body, formula, axis)
    elif isinstance(expr, Unary) and expr.op == "-":
        found = negated(drift(body, expr.operand, axis))
    elif isinstance(expr, Binary):
        found = _binary(body, expr, axis)
    elif isinstance(expr, Call):
        found = _call(body, expr, axis)
    return _sign(found) if expr.type is not None and is_float(expr.type.dtype) else found


def _binary(body: Body, expr: Binary, axis: str) -> Drift:
    left, right = drift(body, expr.left, axis), drift(body, expr.right, axis)
    if expr.op == "+":
        return added(left, right)
    if expr.op == "-":
        return added(left, negated(right))
    if expr.op in ("*", "/") and right == STILL:
        return _scaled(left, _factor(body, expr.right))
    if expr.op == "*":
        return _scaled(right, _factor(body, expr.left)) if left == STILL else UNKNOWN
    least = body.bounds.interval(expr.right)[0]
    rises = left[0] is not None and left[0] >= 0
    if expr.op in ("//", "%") and rises and right == STILL and least is not None and least > 0:
        return (0, left[1]) if expr.op == "//" else (None, left[1])  # a remainder falls where it starts again
    return UNKNOWN


def _factor(body: Body, expr: Expr) -> tuple[int | None, int | None]:
    """What an expression lies within; of a float its sign."""
    if expr.type is None or not (is_float(expr.type.dtype) or expr.type.weak):
        return body.bounds.interval(expr)
    found = body.bounds.real(expr)
    return (None, None) if found is None else (0 if found[0] >= 0 else None, 0 if found[1] <= 0 else None)


def _call(body: Body, expr: Call, axis: str) -> Drift:
    if expr.op in ("maximum", "minimum") and len(expr.args) == 2:
        return either(drift(body, expr.args[0], axis), drift(body, expr.args[1], axis))
    if expr.op == "abs":
        low, high = drift(body, expr.args[0], axis)
        start, stop = body.bounds.interval(expr.args[0])
        if start is not None and start >= 0:
            return low, high
        if stop is not None and stop <= 0:
            return negated((low, high))
        return UNKNOWN if low is None or high is None else (-max(-low, high), max(-low, high))
    if expr.op == "cast" and isinstance(expr.args[1], Text):
        inner = drift(body, expr.args[0], axis)
        if expr.args[1].value not in ("i64", "f32", "f64"):
            return UNKNOWN
        kind = expr.args[0].type
        return _sign(inner) if kind is not None and is_float(kind.dtype) else inner
    return _sign(drift(body, expr.args[0], axis)) if expr.op in _KEEPS_ORDER else UNKNOWN


def _sign(a: Drift) -> Drift:
    """What is left of a drift after rounding."""
    low, high = a
    return (0 if low is not None and low >= 0 else None), (0 if high is not None and high <= 0 else None)


def _scaled(a: Drift, by: tuple[int | None, int | None]) -> Drift:
    """A drift times a factor within `by`."""
    least, most = by
    if least == most == 0:
        return STILL
    if most is not None and most <= 0:
        return negated(_scaled(a, (-most, None if least is None else -least)))
    if least is None or least < 0:
        return STILL if a == STILL else UNKNOWN
    low, high = a
    at_low, at_high = (least if low is None or low >= 0 else most), (most if high is None or high >= 0 else least)
    return _times(low, at_low), _times(high, at_high)


def _times(gain: int | None, by: int | None) -> int | None:
    return 0 if gain == 0 else None if gain is None or by is None else gain * by
