"""Reductions over the taps of a window, written out: a tile for each tap, all of them joined.

A tile with an axis of three taps would have lanes for four, and would be summed across a program's threads. Written
out, every thread sums its own results, and what neighbouring windows share is loaded and joined once (`share`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from akg_core.dtypes import is_float
from akg_core.lower.access import place, step
from akg_core.lower.explicit import cast
from akg_core.lower.ir import Axis, Body, Op
from akg_core.lower.substitute import replaced
from akg_core.sketch import numerics
from akg_core.sketch.affine import INDEX
from akg_core.sketch.ast import Binary, Call, Element, Expr, Name, Number, Type, walk

SHORT = 16  # taps of a side that are written out
MOST = 64  # taps of a window
LEAST_LANES = 32  # of the tile of one tap
_JOINS = {"reduce_sum": "+", "reduce_prod": "*", "reduce_max": "maximum", "reduce_min": "minimum"}


def write_out_taps(body: Body) -> None:
    """Write out, in an explicit body, each reduction over short windows that loads what it reduces."""

    def change(op: Op) -> list[Op]:
        axes = _written_out(body, op) if op.kind == "reduce" else []
        return _taps(body, op, axes) if axes else [op]

    body.rewrite_blocks(change)


def _taps(body: Body, op: Op, axes: Sequence[str]) -> list[Op]:
    """The reduction with the tiles of all taps along `axes` joined, in pairs."""
    held = numerics.reduction_dtype(op.function, op.operand.dtype)
    left = tuple(axis for axis in op.over if axis not in axes)
    made: list[Op] = []

    def keep(expr: Expr, name: str) -> Name:
        value = body.fresh(name, body.axes_of(expr), held)
        made.append(Op("map", op.place, target=value, expr=expr))
        return Name(value.name, type=Type(dtype=held))

    def taps(expr: Expr, names: Sequence[str]) -> Expr:
        if not names:
            return cast(expr, held)
        name, *inner = names
        parts = [
            keep(taps(replaced(expr, {name: Number(at, type=INDEX)}), inner), f"{name}_part")
            for at in range(_count(body.axes[name]))
        ]
        joined: list[Expr] = [*parts]
        while len(joined) > 1:
            pairs = [_join(op.function, joined[at], joined[at + 1], held) for at in range(0, len(joined) - 1, 2)]
            joined = pairs + joined[2 * len(pairs) :]
        return joined[0]

    tile = taps(op.operand, axes)
    if left:
        made.append(Op("reduce", op.place, op.function, target=op.target, expr=tile, over=left))
    else:
        made.append(Op("map", op.place, target=op.target, expr=cast(tile, op.result.dtype)))
    return made


def _join(function: str, left: Expr, right: Expr, dtype: str) -> Expr:
    word, kind = _JOINS[function], Type(dtype=dtype)
    return Binary(word, left, right, type=kind) if len(word) == 1 else Call(word, (left, right), type=kind)


def _written_out(body: Body, op: Op) -> list[str]:
    """The axes of a reduction that are written out, the outermost first.

    An axis whose taps are neighbours in memory, and those of no other window, stays one of the tile.
    """
    if op.function not in _JOINS or not is_float(op.operand.dtype):
        return []
    if any(value.axes & set(op.over) for value in body.values_of(op.operand)):
        return []  # what has a name is a tile already
    gains = [_gains(body, element) for element in body.elements_of(op.operand)]
    runs = {n for n in op.over for each in gains if _runs(n, _count(body.axes[n]), each, op.over)}
    found = [n for n in op.over if n not in runs and 0 < _count(body.axes[n]) <= SHORT]
    tile = [body.axes[n].lanes or LEAST_LANES for n in _axes_named(body, op.operand) if n not in found]
    taps = math.prod(_count(body.axes[n]) for n in found)
    if not gains or not found or math.prod(tile) < LEAST_LANES or taps > MOST:
        return []
    for name, gain in itertools.chain.from_iterable(each.items() for each in gains):
        if gain == 1 and name not in op.over:
            body.axes[name].single = True
    return found


def _axes_named(body: Body, expr: Expr) -> set[str]:
    """The axes that an expression names itself."""
    return {node.id for node in walk(expr) if isinstance(node, Name) and node.id in body.axes}


def _gains(body: Body, element: Element) -> dict[str, int | None]:
    """How far apart in memory neighbours along each axis are at a load; None where that varies or is not known."""
    dims = body.tensors[element.tensor].dims
    flat = place(element.indices, dims)
    found = {name: step(body, flat, name) for name in body.axes_of(element)}
    return {name: None if gain is None else gain.constant for name, gain in found.items()}


def _runs(name: str, taps: int, gains: Mapping[str, int | None], names: Sequence[str]) -> bool:
    """Whether the taps along an axis lie in a row in memory, apart from those of other windows."""
    others = [gain for other, gain in gains.items() if other not in names]
    return gains.get(name) == 1 and all(not gain or abs(gain) >= taps for gain in others)


def _count(axis: Axis) -> int:
    """How many positions an axis has, when its tile holds all of them for certain; else 0."""
    whole = axis.step is None and not axis.unit
    return int(axis.extent.value) if whole and isinstance(axis.extent, Number) else 0
