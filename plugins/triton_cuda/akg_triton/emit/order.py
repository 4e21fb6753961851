"""The order of a region's axes: which one is the first dimension of its tiles, and which the last.

Triton lets neighbouring lanes run along the dimension that it can prove contiguous, wherever that stands. Where it
cannot (digits of an index), they run along dimension 0: so an axis of that kind goes first, and an axis that is
contiguous for certain goes last, as in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from akg_core.sketch.ast import Binary, Expr, Name, Number, walk
from akg_core.sketch.lower_access import place, step
from akg_core.sketch.lower_index import INDEX, Polynomial
from akg_triton.emit.memory import Visit

RUN = 32.0  # neighbours that one access of a warp takes
WISHED = 1e12  # counts more than any access
TURNS = 16.0  # what an access one loop further in counts more


@dataclass(frozen=True, slots=True)
class Along:
    """Which axes an index expression varies with: what `lower_access.step` asks of a body. `loaded`: those of names
    that stand for indices that are no arithmetic."""

    axes: frozenset[str]
    loaded: Mapping[str, tuple[str, ...]]

    def axes_of(self, expr: Expr) -> frozenset[str]:
        names = [node.id for node in walk(expr) if isinstance(node, Name)]
        return frozenset(names) & self.axes | frozenset(a for name in names for a in self.loaded.get(name, ()))


def steps(visit: Visit, axes: Sequence[str]) -> dict[str, Polynomial | None]:
    """For each axis of an access, how far apart in memory neighbours are; None where that varies."""
    loaded = {f"?{number}": span for number, span in enumerate(visit.spans)}
    indices = [expr or Name(f"?{number}", type=INDEX) for number, expr in enumerate(visit.indices)]
    flat = place(indices, visit.dims)
    body = Along(frozenset(axes), loaded)
    return {axis: step(body, flat, axis) for axis in visit.axes}


def order(visits: Iterable[Visit], axes: Sequence[str], wishes: Sequence[Sequence[str]] = ()) -> list[str]:
    """`axes`, given from the outermost loop to the innermost, in the order of dimensions.

    `wishes`: orders that the sketch asks for; the last axis of each is to run along the lanes.
    """
    even, torn = dict.fromkeys(axes, 0.0), dict.fromkeys(axes, 0.0)
    for visit in visits:
        weight = TURNS**visit.depth * (1.5 if visit.stores else 1.0)
        for axis, gain in steps(visit, axes).items():
            if gain is not None and gain.constant == 1:
                even[axis] += weight
            elif gain is None and visit.indices[-1] is not None:
                torn[axis] += weight * run(visit.indices[-1], axis) / RUN
    for wish in wishes:
        for rank, axis in enumerate(wish, 1):
            (torn if rank == len(wish) and torn[axis] > even[axis] else even)[axis] += rank * WISHED
    first = sorted((a for a in axes if torn[a] > even[a]), key=lambda a: -torn[a])
    last = sorted((a for a in axes if torn[a] <= even[a]), key=lambda a: even[a])
    return [*first, *last]


def gathers(visits: Iterable[Visit], axes: Sequence[str]) -> bool:
    """Whether some access does not step evenly along its axes."""
    return any(gain is None for visit in visits for gain in steps(visit, axes).values())


def run(index: Expr | None, axis: str) -> float:
    """How many neighbours along an axis lie in a row, by the digit of it that the innermost index has; at most RUN."""
    for node in walk(index):
        if isinstance(node, Binary) and node.op == "%" and node.left == Name(axis):
            return min(RUN, float(node.right.value) if isinstance(node.right, Number) else RUN)
    return 0.0
