"""Interval arithmetic over expressions of a sketch: what an index, or a number that becomes one, lies between."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from akg_core.dtypes import is_float
from akg_core.sketch.ast import Binary, Call, Expr, Name, Number, Text, Unary

Interval = tuple[int | None, int | None]
Reals = tuple[float, float]


class Ranges:
    """What expressions lie between, by what is known of names; see `akg_core.sketch.affine.Bounds`.

    A name is looked into once, however often formulas use it: a value made of the one before twice over, and so on,
    takes no more time than there are values.
    """

    def __init__(
        self,
        extents: Mapping[str, Expr],
        counters: Mapping[str, tuple[Expr, Expr]],
        dimensions: Collection[str],
        formulas: Mapping[str, Expr],
    ) -> None:
        self._extents, self._counters, self._dimensions, self._formulas = extents, counters, dimensions, formulas
        self._intervals: dict[str, Interval] = {}
        self._reals: dict[str, Reals | None] = {}

    def interval(self, expr: Expr) -> Interval:
        """The least and greatest value of an index expression; None where that is not known."""
        if isinstance(expr, Number) and isinstance(expr.value, int):
            return int(expr.value), int(expr.value)
        if isinstance(expr, Name):
            if expr.id not in self._intervals:
                self._intervals[expr.id] = self._name(expr.id)
            return self._intervals[expr.id]
        if isinstance(expr, Unary) and expr.op == "-":
            return negated(self.interval(expr.operand))
        if isinstance(expr, Call) and expr.op in ("maximum", "minimum") and len(expr.args) == 2:
            return _extreme(expr.op, self.interval(expr.args[0]), self.interval(expr.args[1]))
        if isinstance(expr, Call) and expr.op == "where":
            return either(self.interval(expr.args[1]), self.interval(expr.args[2]))
        if isinstance(expr, Call) and expr.op == "cdiv":
            return 0, self.interval(expr.args[0])[1]
        if isinstance(expr, Call) and expr.op == "abs":
            return _magnitude(self.interval(expr.args[0]))
        if isinstance(expr, Call) and expr.op == "cast":
            return self._cast(expr)
        if isinstance(expr, Binary) and expr.op in _INTERVALS:
            return _INTERVALS[expr.op](self.interval(expr.left), self.interval(expr.right))
        return None, None

    def _name(self, name: str) -> Interval:
        if name in self._extents:
            high = self.interval(self._extents[name])[1]
            return 0, None if high is None else high - 1
        if name in self._counters:
            start, stop = self._counters[name]
            high = self.interval(stop)[1]
            return self.interval(start)[0], None if high is None else high - 1
        if name in self._formulas:
            return self.interval(self._formulas[name])
        return (0, None) if name in self._dimensions else (None, None)

    def _cast(self, call: Call) -> Interval:
        """An index made of another number; a float loses its fraction."""
        (inner, to), kind = call.args, call.args[0].type
        if to != Text("i64"):
            return None, None
        if kind is None or not is_float(kind.dtype):
            return self.interval(inner)
        found = self.real(inner)
        return (None, None) if found is None else (int(found[0]), int(found[1]))

    def real(self, expr: Expr) -> Reals | None:
        """What an expression of f32 or f64 lies within, rounding included; None where that is not known."""
        kind = expr.type
        if isinstance(expr, Number):
            return _rounded(float(expr.value), float(expr.value))
        if kind is None or (kind.dtype not in ("f32", "f64") and is_float(kind.dtype)):
            return None
        if not is_float(kind.dtype):
            low, high = self.interval(expr)
            return None if low is None or high is None else _rounded(low, high)
        if isinstance(expr, Name):
            if expr.id not in self._reals:
                self._reals[expr.id] = self.real(self._formulas[expr.id]) if expr.id in self._formulas else None
            return self._reals[expr.id]
        if isinstance(expr, Call) and expr.op == "cast":
            return self.real(expr.args[0])
        if isinstance(expr, Binary):
            return _combined(expr.op, self.real(expr.left), self.real(expr.right))
        if isinstance(expr, Call) and expr.op in ("maximum", "minimum") and len(expr.args) == 2:
            return _combined(expr.op, self.real(expr.args[0]), self.real(expr.args[1]))
        return None


def negated(a: Interval) -> Interval:
    return None if a[1] is None else -a[1], None if a[0] is None else -a[0]


def added(a: Interval, b: Interval) -> Interval:
    low = None if a[0] is None or b[0] is None else a[0] + b[0]
    return low, None if a[1] is None or b[1] is None else a[1] + b[1]


def either(a: Interval, b: Interval) -> Interval:
    low = None if a[0] is None or b[0] is None else min(a[0], b[0])
    return low, None if a[1] is None or b[1] is None else max(a[1], b[1])


def _multiply(a: Interval, b: Interval) -> Interval:
    (least, most), (other_least, other_most) = a, b
    if least is None or other_least is None:
        return None, None
    if most is None or other_most is None:
        return (least * other_least if least >= 0 and other_least >= 0 else None), None
    corners = [x * y for x in (least, most) for y in (other_least, other_most)]
    return min(corners), max(corners)


def _floor_divide(a: Interval, b: Interval) -> Interval:
    if b[0] is None or b[0] < 0:
        return None, None
    divisors = [max(b[0], 1)] + ([] if b[1] is None else [max(b[1], 1)])  # a size that divides is not 0
    low = None if a[0] is None else min(a[0] // d for d in divisors)
    if b[1] is None and low is not None:
        low = min(low, 0)
    return low, None if a[1] is None else max([a[1] // d for d in divisors] + [-1] * (b[1] is None))


def _modulo(a: Interval, b: Interval) -> Interval:
    if b[0] is None or b[0] < 0:
        return None, None
    if a[0] is not None and a[1] is not None and a[0] >= 0 and a[1] < b[0]:
        return a
    return 0, None if b[1] is None else b[1] - 1


def _extreme(op: str, a: Interval, b: Interval) -> Interval:
    if op == "maximum":
        low = max((x for x in (a[0], b[0]) if x is not None), default=None)
        return low, None if a[1] is None or b[1] is None else max(a[1], b[1])
    high = min((x for x in (a[1], b[1]) if x is not None), default=None)
    return None if a[0] is None or b[0] is None else min(a[0], b[0]), high


def _magnitude(a: Interval) -> Interval:
    low, high = a
    least = low if low is not None and low > 0 else -high if high is not None and high < 0 else 0
    return least, None if low is None or high is None else max(-low, high)


def _combined(op: str, a: Reals | None, b: Reals | None) -> Reals | None:
    if a is None or b is None or op not in _CORNERS:
        return None
    corners = [_CORNERS[op](x, y) for x in a for y in b]
    return _rounded(min(corners), max(corners))


def _rounded(low: float, high: float) -> Reals | None:
    """Ends moved outwards by what rounding to f32 may add; None for what no index is made of."""
    slack = 2.0**-23
    ends = low - abs(low) * slack, high + abs(high) * slack
    return ends if -(2.0**62) < ends[0] <= ends[1] < 2.0**62 else None


_CORNERS: dict[str, Callable[[float, float], float]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "maximum": max,
    "minimum": min,
}
_INTERVALS: dict[str, Callable[[Interval, Interval], Interval]] = {
    "+": added,
    "-": lambda a, b: added(a, negated(b)),
    "*": _multiply,
    "//": _floor_divide,
    "%": _modulo,
}
