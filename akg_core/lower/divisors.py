"""What certainly divides an index: of the number at which a tile begins, its step, and so on."""

from __future__ import annotations

import math
from collections.abc import Mapping

from akg_core.lower.ir import Axis
from akg_core.sketch.ast import Binary, Expr, Name, Number


class Divisors:
    """Numbers that divide index expressions for certain, by those that are known of names."""

    def __init__(self, known: Mapping[str, int] | None = None) -> None:
        self._known = dict(known or {})

    def of(self, expr: Expr) -> int:
        """A number that divides `expr`; 0 divides nothing but 0."""
        if isinstance(expr, Number):
            return abs(int(expr.value))
        if isinstance(expr, Name):
            return self._known.get(expr.id, 1)
        if isinstance(expr, Binary) and expr.op in ("+", "-", "*"):
            left, right = self.of(expr.left), self.of(expr.right)
            return left * right if expr.op == "*" else math.gcd(left, right)
        return 1

    def note(self, name: str, divisor: int) -> None:
        """Note that a number divides what has this name."""
        self._known[name] = divisor

    def open(self, axis: Axis, start: Expr, stop: Expr) -> None:
        """Note what divides the bounds of an axis' tile, whose tiles begin at `start` and end at `stop` at the most."""
        if axis.step is None:
            return
        step = self.of(axis.step)
        if isinstance(axis.begin, Name):
            self._known[axis.begin.id] = math.gcd(self.of(start), step)
        if isinstance(axis.end, Name):
            self._known[axis.end.id] = math.gcd(self.of(start), step, self.of(stop))
