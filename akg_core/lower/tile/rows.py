"""Loops over the rows of a program's own tile, written out: each position after the other.

What several positions read, as rows of windows that overlap do, is then loaded once (`share`).
"""

from __future__ import annotations

from collections.abc import Sequence

from akg_core.lower.ir import Axis, Body, Op, Value, inside
from akg_core.lower.substitute import copied
from akg_core.sketch.affine import INDEX
from akg_core.sketch.ast import Binary, Expr, Name, Number, Type


def write_out_rows(body: Body) -> None:
    """Write out, in a padded body, each loop that goes position by position through a tile, where it asks for it."""
    for region in body.regions:
        region.ops = _block(body, region.ops, set())


def _block(body: Body, ops: Sequence[Op], known: set[Value]) -> list[Op]:
    made: list[Op] = []
    known = set(known)
    for op in ops:
        rows = _rows(body, op)
        op.body, op.orelse = _block(body, op.body, known), _block(body, op.orelse, known)
        made += [op] if rows is None else _written_out(body, op, rows, known)
        if op.target is not None:
            known.add(op.target)
    return made


def _rows(body: Body, op: Op) -> Axis | None:
    """The axis whose tile a loop goes through position by position, when that is to be written out."""
    unroll = op.hints.get("unroll")
    if op.kind != "tiles" or op.axis is None or not isinstance(unroll, Number) or op.reverse:
        return None
    if op.axis.step != Number(1):
        return None
    for axis in body.axes.values():
        if op.bounds == (axis.begin, axis.end) and axis.lanes is not None and 1 < axis.lanes <= int(unroll.value):
            return axis
    return None


def _written_out(body: Body, op: Op, rows: Axis, known: set[Value]) -> list[Op]:
    assert rows.lanes is not None
    own = [inner.target for inner in inside(op.body) if inner.target is not None]
    own = [value for value in dict.fromkeys(own) if value not in known]
    made: list[Op] = []
    for number in range(rows.lanes):
        at = body.fresh(f"{op.tiled.name}_{number}", (), "i64")
        body.bounds.counters[at.name] = (Number(number, type=INDEX), op.tiled.extent)
        here = Name(at.name, type=INDEX)
        position: Expr = Binary("+", rows.begin, Number(number, type=INDEX), type=INDEX) if number else rows.begin
        body.bounds.formulas[at.name] = position
        made.append(Op("map", op.place, target=at, expr=position, depth=op.depth))
        ops = copied(body, op.body, own, {op.tiled.name: here})
        if number and rows.partial:
            guard = Binary("<", here, op.tiled.extent, type=Type(dtype="bool"))
            for inner in inside(ops):
                inner.mask = guard if inner.mask is None else Binary("and", inner.mask, guard, type=guard.type)
        made += ops
    return made
