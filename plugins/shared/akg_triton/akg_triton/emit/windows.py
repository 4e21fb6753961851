"""Reductions over the taps of a window, written out: a tile for each tap, all of them joined.

A tile with an axis of three taps would have lanes for four, and would be summed across the program's threads. Written
out, every thread sums its own results; what neighbouring windows share is loaded and joined once.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from akg_core.plugin.lower import Lines, place, step
from akg_core.plugin.sketch import Call, Element, Expr, Name, Number, is_float, walk
from akg_triton.emit.along import AlongWriter, named_axes
from akg_triton.emit.order import Along
from akg_triton.emit.source import Source
from akg_triton.emit.terms import SUM, Axis, Scope, Term

SHORT = 16  # taps of a side that are written out
MOST = 64  # taps of a window
LEAST_LANES = 32  # of the tile of one tap
JOINS = {"reduce_sum": "+", "reduce_prod": "*", "reduce_max": "maximum", "reduce_min": "minimum"}


class WindowWriter(AlongWriter):
    """Adds reductions over taps.

    `repeated`: what has a name already, by block and text, while text is written out. `single`: axes along which taps
    are read from neighbouring places: one element a thread for each access, so that all of them have one layout.
    """

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.repeated: dict[tuple[Lines, str], Term] | None = None
        self.single: set[str] = set()

    def reduce(self, call: Call, scope: Scope, dtype: str) -> Term:
        apart = self.written_out(call, scope)
        if not apart:
            return super().reduce(call, scope, dtype)
        outermost, self.repeated = self.repeated is None, self.repeated if self.repeated is not None else {}
        tile = self.taps(call, apart, scope)
        if outermost:
            self.repeated = None
        left = [axis for name, axis in scope.axes.items() if name in named_axes(call.args[1]) and name not in apart]
        return self.reduced(call, tile, [axis for axis in left if not axis.unit], dtype)

    def taps(self, call: Call, apart: Sequence[str], scope: Scope) -> Term:
        """The argument of a reduction with the tiles of all taps along the axes `apart` joined, in pairs."""
        if not apart:
            return self.strong(self.term(call.args[0], scope))
        name, *inner = apart
        axis = scope.axes[name]
        parts = []
        for position in range(_taps(axis)):
            here = scope.inner()
            here.axes[name] = at_position(axis, Term(str(position), "i64", narrow=True, expr=Number(position)))
            here.values.pop(name, None)
            part = self.taps(call, inner, here)
            parts.append(self.named(f"{name}_part", part) if inner else part)
        while len(parts) > 1:
            pairs = [self.both(call.op, *parts[at : at + 2]) for at in range(0, len(parts) - 1, 2)]
            parts = pairs + parts[2 * len(pairs) :]
        return parts[0]

    def forget(self, variable: str) -> None:
        """What was computed of a variable has no name any more, now that the variable is something else."""
        for key in [key for key in self.repeated or () if re.search(rf"\b{variable}\b", key[1])]:
            assert self.repeated is not None
            del self.repeated[key]

    def both(self, op: str, a: Term, b: Term) -> Term:
        held = self.held(a.dtype, op.removeprefix("reduce_"))
        pair = [self.convert(term, held) for term in (a, b)]
        if JOINS[op] in ("+", "*"):
            return replace(self.joined(JOINS[op], pair, held), fill=None)
        return self.elementwise(JOINS[op], pair, held)

    def written_out(self, call: Call, scope: Scope) -> list[str]:
        """The axes of a reduction that are written out, the outermost first.

        An axis whose taps are neighbours in memory, and those of no other window, stays one of the tile.
        """
        argument, names = call.args[0], named_axes(call.args[1])
        kind = argument.type
        if call.op not in JOINS or kind is None or not is_float(kind.dtype):
            return []
        named = {n.id for n in walk(argument) if isinstance(n, Name)}
        tiles = {scope.axes[name].name for name in names}
        if any(tiles & set(scope.values[n].axes) for n in named if n in scope.values):
            return []  # what has a name is a tile already
        loads = [n for n in walk(argument) if isinstance(n, Call) and n.op == "load"]
        gains = [self.gains(load.args[0], scope) for load in loads]
        runs = {n for n in names for each in gains if _runs(n, _taps(scope.axes[n]), each, names)}
        found = [n for n in names if n not in runs and 0 < _taps(scope.axes[n]) <= SHORT]
        taps = math.prod(_taps(scope.axes[n]) for n in found)
        tile = [scope.axes[n].block for n in named if n in scope.axes and n not in found]
        lanes = math.prod(block if isinstance(block, int) else LEAST_LANES for block in tile)
        if not loads or not found or lanes < LEAST_LANES or taps > MOST:
            return []
        self.single |= {scope.axes[n].name for each in gains for n, gain in each.items() if gain == 1} - tiles
        return found

    def gains(self, element: Expr, scope: Scope) -> dict[str, int | None]:
        """How far apart in memory neighbours along each axis are at a load; None where that varies or is not known."""
        assert isinstance(element, Element)
        sketch = {axis.name: name for name, axis in scope.axes.items()}
        loaded = {n: tuple(sketch.get(a, a) for a in term.axes) for n, term in scope.values.items()}
        flat = place(element.indices, self.tensors[element.tensor].dims)
        body = Along(frozenset(scope.axes), loaded)
        steps = {name: step(body, flat, name) for name, axis in scope.axes.items() if not axis.unit}
        return {name: None if found is None else found.constant for name, found in steps.items()}


def at_position(axis: Axis, position: Term) -> Axis:
    """An axis of which only one position is at hand."""

    def end() -> Term:
        return Term(f"{position.beside('+')} + 1", "i64", (), SUM, narrow=position.narrow)

    return replace(axis, begin=position, end=end, positions=lambda: position, block=1, partial=False)


def _runs(name: str, taps: int, gains: Mapping[str, int | None], names: Sequence[str]) -> bool:
    """Whether the taps along an axis lie in a row in memory, apart from those of other windows."""
    others = [gain for other, gain in gains.items() if other not in names]
    return gains.get(name) == 1 and all(not gain or abs(gain) >= taps for gain in others)


def _taps(axis: Axis) -> int:
    """How many positions an axis has, when its tile holds all of them for certain; else 0."""
    whole = axis.begin.text == "0" and isinstance(axis.extent, Number) and not axis.unit
    return int(axis.extent.value) if whole and isinstance(axis.extent, Number) else 0
