"""Loops and grids of one tile are none: their axis is whole."""

from __future__ import annotations

from akg_core.lower.ir import Axis, Body, Op
from akg_core.lower.substitute import replace_in
from akg_core.sketch.affine import INDEX
from akg_core.sketch.ast import Expr, Name, Number

ZERO = Number(0, type=INDEX)


def unroll_single(body: Body) -> None:
    """Put the body of each loop of one turn in its place, and begin the only tile of a grid axis at 0."""
    for region in body.regions:
        for axis in region.grid:
            if axis.has_one_tile and not axis.cooperative:
                replace_in(region.ops, _whole(axis))
    body.rewrite_blocks(_flat)


def _flat(op: Op) -> list[Op]:
    axis = op.axis
    if op.kind == "tiles" and axis is not None and axis.has_one_tile and op.bounds == (ZERO, axis.extent):
        replace_in(op.body, _whole(axis))
        axis.step = None
        return op.body
    return [op]


def _whole(axis: Axis) -> dict[str, Expr]:
    """Make an axis begin at 0 and end at its extent; what its bounds are then, by name."""
    found: dict[str, Expr] = {}
    if isinstance(axis.begin, Name):
        found[axis.begin.id] = ZERO
    if isinstance(axis.end, Name):
        found[axis.end.id] = axis.extent
    if axis.unit:
        found[axis.name] = ZERO
    axis.begin, axis.end = ZERO, axis.extent
    return found
