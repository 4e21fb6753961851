"""The order of a region's axes: which one is the first dimension of its tiles, and which the last.

Triton lets neighbouring lanes run along the dimension that it can prove contiguous, wherever that stands. Where it
cannot (digits of an index), they run along dimension 0: so an axis of that kind goes first, and an axis that is
contiguous for certain goes last, as in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from akg_core.sketch.ast import Binary, Expr, Name, Number, walk
from akg_core.sketch.lower_access import place, step
from akg_triton.emit.memory import Visit

RUN = 32.0  # neighbours that one access of a warp takes
TURNS = 16.0  # what an access one loop further in counts more


@dataclass(frozen=True, slots=True)
class Along:
    """Which of the axes an index expression varies with: what `lower_access.step` asks of a body."""

    axes: frozenset[str]

    def axes_of(self, expr: Expr) -> frozenset[str]:
        return frozenset(node.id for node in walk(expr) if isinstance(node, Name)) & self.axes


def order(visits: Iterable[Visit], axes: Sequence[str]) -> list[str]:
    """`axes`, given from the outermost loop to the innermost, in the order of dimensions."""
    even, torn = dict.fromkeys(axes, 0.0), dict.fromkeys(axes, 0.0)
    for visit in visits:
        if any(index is None for index in visit.indices):
            continue
        flat = place([index for index in visit.indices if index is not None], visit.dims)
        body = Along(frozenset(axes))
        for axis in visit.axes:
            gain = step(body, flat, axis)  # type: ignore[arg-type]
            weight = TURNS**visit.depth * (1.5 if visit.stores else 1.0)
            if gain is not None and gain.constant == 1:
                even[axis] += weight
            elif gain is None and visit.indices:
                torn[axis] += weight * run(visit.indices[-1], axis) / RUN
    first = sorted((a for a in axes if torn[a] > even[a]), key=lambda a: -torn[a])
    last = sorted((a for a in axes if torn[a] <= even[a]), key=lambda a: even[a])
    return [*first, *last]


def run(index: Expr | None, axis: str) -> float:
    """How many neighbours along an axis lie in a row, by the digit of it that the innermost index has; at most RUN."""
    for node in walk(index):
        if isinstance(node, Binary) and node.op == "%" and node.left == Name(axis):
            return min(RUN, float(node.right.value) if isinstance(node.right, Number) else RUN)
    return 0.0


def gathers(visits: Iterable[Visit], axes: Sequence[str]) -> bool:
    """Whether some access does not step evenly along its axes."""
    body = Along(frozenset(axes))
    for visit in visits:
        if any(index is None for index in visit.indices):
            return True
        flat = place([index for index in visit.indices if index is not None], visit.dims)
        if any(step(body, flat, axis) is None for axis in visit.axes):  # type: ignore[arg-type]
            return True
    return False
