"""How many lanes the tile of each axis has, and whether all of them are positions.

A language of tiles wants powers of two, or takes multiples of a granule too, and its matrix units so many lanes at
least. Lanes beyond the positions of a tile do not exist: what is loaded, stored, or combined there needs a mask
(`masks`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from akg_core.dtypes import is_float
from akg_core.lower.divisors import Divisors
from akg_core.lower.ir import Axis, Body, Op
from akg_core.sketch.ast import Expr, Number

_ZERO, _HALVES = Number(0), ("f16", "bf16")


def pad(body: Body, least: int = 1, granule: int = 0) -> Divisors:
    """Give each axis its lanes, and tell what divides indices.

    `least`: lanes of an axis that a product of matrices of floats sums over. `granule`: steps that are a multiple of it
    have as many lanes, and axes that are whole and multiples of `least`, where matrices of half precision are
    multiplied; 0: all lanes are powers of two.
    """
    padding = _Padding(body, least, granule)
    padding.run()
    return padding.divisors


class _Padding:
    def __init__(self, body: Body, least: int, granule: int) -> None:
        self.body, self.least, self.granule, self.divisors = body, least, granule, Divisors()
        self.contracted = {
            axis
            for op in body.ops()
            if op.kind == "dot" and op.target and is_float(op.target.dtype)
            for axis in op.over
        }
        self.multiplied = _multiplied(body) if granule else set()

    def run(self) -> None:
        for axis in self.body.axes.values():
            if axis.step is None:
                self.give(axis, partial=False)
        for region in self.body.regions:
            for axis in region.grid:
                self.open(axis, _ZERO, axis.extent)
            self.block(region.ops)

    def block(self, ops: Sequence[Op]) -> None:
        for op in ops:
            if op.kind == "tiles":
                self.open(op.tiled, *op.bounds)
            self.block(op.body)
            self.block(op.orelse)

    def open(self, axis: Axis, start: Expr, stop: Expr) -> None:
        """Lanes of an axis whose tiles begin at `start` and end at `stop` at the most."""
        self.divisors.open(axis, start, stop)
        low = self.body.bounds.interval(start)[0]
        known = isinstance(axis.step, Number) and low is not None and low >= 0
        ends = [stop] if self.body.bounds.at_most(stop, axis.extent) else [stop, axis.extent]
        even = known and math.gcd(*map(self.divisors.of, (start, *ends))) % max(_size(axis), 1) == 0
        once = isinstance(axis.extent, Number) and known and axis.extent.value <= _size(axis)
        self.give(axis, partial=not (even or (once and (start, stop) == (_ZERO, axis.extent))))

    def give(self, axis: Axis, partial: bool) -> None:
        """`partial`: a tile may hold fewer positions than its step, or its extent where it is smaller, says."""
        sizes = [int(e.value) for e in (axis.step or axis.extent, axis.extent) if isinstance(e, Number)]
        if not isinstance(axis.step or axis.extent, Number):
            axis.lanes, axis.partial = None, True
            return
        most = min(sizes)
        axis.lanes = 1 if axis.unit else max(self.lanes_of(axis, most), self.least_of(axis))
        axis.partial = not axis.unit and (partial or axis.lanes != most)
        axis.aligned = not axis.unit and self.divisors.of(axis.begin) % axis.lanes == 0

    def lanes_of(self, axis: Axis, most: int) -> int:
        """The lanes in which `most` positions lie."""
        if axis.step is None:
            even = axis.name in self.multiplied and most % self.least == 0
        else:
            even = bool(self.granule) and most == _size(axis) and most % self.granule == 0
        return most if even else 1 << max(most - 1, 1).bit_length()

    def least_of(self, axis: Axis) -> int:
        return self.least if axis.name in self.contracted else 1


def _multiplied(body: Body) -> set[str]:
    """The axes of factors of half precision, but for those along which something is combined or put in order."""
    factors = (expr for op in body.ops() if op.kind == "dot" for expr in (op.operand, op.second))
    found = {axis for expr in factors if expr.type and expr.type.dtype in _HALVES for axis in body.axes_of(expr)}
    return found - {axis for op in body.ops() if op.kind in ("reduce", "scan", "sort") for axis in op.over}


def _size(axis: Axis) -> int:
    return int(axis.step.value) if isinstance(axis.step, Number) else 0
