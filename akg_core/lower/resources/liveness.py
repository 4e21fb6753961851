"""How many bytes of tiles live at the same time in one program, by the liveness of the values of the IR.

A tile along an axis counts its step, or the extent where that is known and less, and always a power of two, as it is
held; an axis of unknown extent counts one position, so that the figure is then a lower bound. What an expression loads
or multiplies on the way counts while it is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from akg_core.dtypes import DTYPES
from akg_core.lower.ir import Body, Op, Value, dtype_of
from akg_core.sketch.ast import Place


@dataclass(frozen=True, slots=True)
class Peak:
    """The most bytes of tiles that live at once in one program, where, and of which values, the largest first."""

    bytes: int
    place: Place
    names: tuple[str, ...]


def peak(body: Body) -> Peak:
    """The peak of a body in which every value of the sketch is kept (`KEPT`)."""
    walk = Liveness(body)
    for region in body.regions:
        walk.block(region.ops, frozenset())
    return walk.peak


class Liveness:
    def __init__(self, body: Body) -> None:
        self.body, self.peak = body, Peak(0, body.kernel.place, ())

    def size(self, axes: Iterable[str], dtype: str) -> int:
        """Bytes of a tile, of which each dimension is a power of two; a scalar has none."""
        capacities = [self.body.axes[axis].capacity or 1 for axis in axes]
        lanes = prod(1 << (max(each, 1) - 1).bit_length() for each in capacities)
        return lanes * DTYPES[dtype].size if capacities else 0

    def bytes_of(self, value: Value) -> int:
        return self.size(value.axes, value.dtype)

    def block(self, ops: Sequence[Op], live: frozenset[Value]) -> frozenset[Value]:
        """The values that live before `ops` when those in `live` do after; the peak is noted."""
        for op in reversed(ops):
            used = frozenset(v for expr in op.expressions() for v in self.body.values_of(expr))
            if op.kind == "if":
                live = self.block(op.body, live) | self.block(op.orelse, live) | used
            elif op.compound:
                turn = self.block(op.body, live)
                live = live | self.block(op.body, live | turn) | used
            else:
                if op.target is not None:
                    self.note(op, live | {op.target})
                    kept = op.accumulate or op.mask is not None
                    live = live if kept else live - {op.target}
                    used |= {op.target} if op.accumulate else frozenset()
                live = live | used
                self.note(op, live)
        return live

    def note(self, op: Op, live: frozenset[Value]) -> None:
        whole = [op.expr, op.other] if op.kind != "map" else []
        inner = [load for expr in op.expressions() for load in self.body.loads_of(expr) if load is not op.expr or whole]
        loaded = sum(self.size(self.body.axes_of(load), dtype_of(load)) for load in inner)
        total = sum(map(self.bytes_of, live)) + loaded
        if total > self.peak.bytes:
            tiles = sorted((value for value in live if value.axes), key=self.bytes_of, reverse=True)
            self.peak = Peak(total, op.place, tuple(value.name for value in tiles))
