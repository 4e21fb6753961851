"""How much a kernel does: turns of its loops, and operations of one program, for what is decided by size."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from akg_core.sketch.ast import Number
from akg_core.sketch.lower_pieces import Body, Piece

UNKNOWN = 1024  # positions assumed for an axis whose length is known at launch only
MOST = 1 << 40  # beyond it nobody asks how much


def length(body: Body, axis: str) -> int:
    """The positions of an axis that a tile holds."""
    return body.axes[axis].capacity or UNKNOWN


def turns(piece: Piece) -> int:
    """How often a loop over tiles or values of a counter turns; 1 for anything else."""
    if piece.kind == "tiles" and piece.axis is not None:
        extent, size = piece.axis.extent, piece.axis.capacity or UNKNOWN
        return -(-int(extent.value) // size) if isinstance(extent, Number) else UNKNOWN
    if piece.kind == "range":
        start, stop, by = (int(b.value) if isinstance(b, Number) else None for b in piece.bounds)
        return UNKNOWN if start is None or stop is None or by is None else len(range(start, stop, by))
    return 1


def work(body: Body, pieces: Iterable[Piece]) -> int:
    """Roughly how many operations on single elements one program's pieces are, loads and stores included."""
    total = 0
    for piece in pieces:
        if piece.compound:
            total += turns(piece) * (work(body, piece.body) + work(body, piece.orelse))
            continue
        each = 1 + sum(body.cost(e) + sum(1 for _ in body.loads_of(e)) for e in piece.expressions())
        total += prod(length(body, axis) for axis in piece.iterates) * (1 if piece.kind == "dot" else each)
    return min(total, MOST)
