"""How far along an axis anything is used: a store beyond its tensor writes nothing."""

from __future__ import annotations

from collections.abc import Iterable

from akg_core.lower.ir import Body, Op, Value
from akg_core.sketch.ast import Name, Number


def reach(body: Body, ops: Iterable[Op], axis: str) -> int | None:
    """All that ops do along an axis, which begins at 0, is to store within so many positions; None: not known."""
    reaches = [_stored(body, op, axis) for op in ops]
    found = [each for each in reaches if each is not None]
    return max(found) if found and len(found) == len(reaches) else None


def reach_of(body: Body, value: Value, axis: str) -> int | None:
    """The positions along an axis, from 0 on, at which anything reads a value; None: not known to be fewer than all."""
    return reach(body, (op for op in body.ops() if value in op.reads and value is not op.target), axis)


def _stored(body: Body, op: Op, axis: str) -> int | None:
    if op.kind != "store" or body.axes[axis].begin != Number(0):
        return None
    element = op.destination
    sizes = zip(element.indices, body.tensors[element.tensor].dims, strict=True)
    within = [int(size.value) for at, size in sizes if at == Name(axis) and isinstance(size, Number)]
    return min(within, default=None)
