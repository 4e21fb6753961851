"""Tiles of reductions over windows, where a program holds whole tiles.

Every tap of a window is a tile of its own there, shifted, and all of them are joined. Rows of results whose windows
overlap are made by one program, one after the other, so that what they share is loaded once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from akg_core.design.algebra.index import Axis
from akg_core.design.graph.values import Reduction
from akg_core.design.nest.nest import Nest, segments
from akg_core.design.nest.terms import Load, below
from akg_core.design.nest.tiling import ONE, WHOLE, Step, Tiling, choices_around, power_below
from akg_core.records import Traits

_KINDS = ("sum", "prod", "max", "min")
_SHORT = 16  # taps of a side
_MOST = 128  # taps of a window
_SHARED = 1.15  # how much less there must be to load for rows that are made together


@dataclass(frozen=True, slots=True)
class _Side:
    """Results along `axis` start `stride` apart, their taps along `reduced` are `dilation` apart."""

    axis: Axis
    reduced: Axis
    stride: int
    dilation: int

    @property
    def taps(self) -> int:
        return self.reduced.extent.example

    def shared(self, rows: int) -> float:
        """How many taps `rows` results have for each place that they read."""
        places = {r * self.stride + t * self.dilation for r in range(rows) for t in range(self.taps)}
        return rows * self.taps / len(places)


def tile_windows(nest: Nest, traits: Traits) -> Tiling | None:
    """Tiles of a nest that reduces windows; None for one of another kind, or on a chip of another kind."""
    sides = _sides(nest) if traits.register_tiles else {}
    lane = _lane(nest)
    if not sides or lane is None or lane.extent.example < traits.lanes:
        return None
    others = [a for a in nest.kept if a != lane]
    wanted = [a for a in others if a in sides]
    count = 8 if len(wanted) == 1 else 2
    rows = tuple(a for a in wanted if sides[a].shared(count) >= _SHARED and a.extent.example >= count)
    room = max(traits.tile_elements // count ** len(rows), 4 * traits.lanes)
    if lane in sides and sides[lane].dilation == 1 and sides[lane].stride >= sides[lane].taps:
        room = max(room // power_below(2 * sides[lane].taps - 1), 2)  # the taps are lanes, too
    step = min(room, power_below(2 * lane.extent.example - 1))
    steps = {a: Step(count) if a in rows else ONE for a in others}
    steps[lane] = choices_around(step, min(2 * traits.lanes, step), 4 * step)
    grid = tuple((a, steps[a]) for a in (*others, lane))
    return Tiling(grid, (), tuple((a, WHOLE) for a in nest.axes if a in nest.reduced), rows=rows)


def _sides(nest: Nest) -> dict[Axis, _Side]:
    """The sides of the windows that a nest reduces, by the axis of results; none when it reduces anything else."""
    if not all(isinstance(h.of, Reduction) and h.of.kind in _KINDS for h in nest.heads):
        return {}
    found: dict[Axis, _Side] = {}
    for load in below([t for h in nest.heads for t in h.args]):
        for at in load.at if isinstance(load, Load) else ():
            axes = [(a, at.coefficient(a)) for a in sorted(at.axes(), key=lambda a: a.name)]
            steps = {a: c.constant for a, c in axes if c is not None and c.constant}
            kept, reduced = ([a for a in steps if (a in nest.reduced) == inside] for inside in (False, True))
            if len(kept) == len(reduced) == 1 and len(steps) == len(axes):
                (axis,), (tap,) = kept, reduced
                found[axis] = _Side(axis, tap, abs(steps[axis] or 0), abs(steps[tap] or 0))
    short = all(a.extent.constant is not None and a.extent.constant <= _SHORT for a in nest.reduced)
    few = prod(a.extent.example for a in nest.reduced) <= _MOST
    return found if short and few and {s.reduced for s in found.values()} == nest.reduced else {}


def _lane(nest: Nest) -> Axis | None:
    """The axis along which results are neighbours in memory."""
    for store in nest.stores:
        offsets = [s.offset for s in segments(store.at, store.buffer.shape)[-1:]]
        found = [a for a in nest.kept for o in offsets if (c := o.coefficient(a)) is not None and c == 1]
        if found:
            return found[0]
    return None
