"""How much a kernel does: turns of its loops, and operations of one program, for what is decided by size."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from akg_core.lower.ir import Body, Op
from akg_core.sketch.ast import Number

UNKNOWN = 1024  # positions assumed for an axis whose length is known at launch only
MOST = 1 << 40  # beyond it nobody asks how much


def length(body: Body, axis: str) -> int:
    """The positions of an axis that a tile holds."""
    return body.axes[axis].capacity or UNKNOWN


def turns(op: Op) -> int:
    """How often a loop over tiles or values of a counter turns; 1 for anything else."""
    if op.kind == "tiles" and op.axis is not None:
        extent, size = op.axis.extent, op.axis.capacity or UNKNOWN
        return -(-int(extent.value) // size) if isinstance(extent, Number) else UNKNOWN
    if op.kind == "range":
        start, stop, by = (int(b.value) if isinstance(b, Number) else None for b in op.bounds)
        return UNKNOWN if start is None or stop is None or by is None else len(range(start, stop, by))
    return 1


def work(body: Body, ops: Iterable[Op]) -> int:
    """Roughly how many operations on single elements one program's ops are, loads and stores included."""
    total = 0
    for op in ops:
        if op.compound:
            total += turns(op) * (work(body, op.body) + work(body, op.orelse))
            continue
        each = 1 + sum(body.cost(e) + sum(1 for _ in body.loads_of(e)) for e in op.expressions())
        total += prod(length(body, axis) for axis in op.iterates) * (1 if op.kind == "dot" else each)
    return min(total, MOST)
