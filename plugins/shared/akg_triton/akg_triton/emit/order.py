"""The order of a region's axes: which one is the first dimension of its tiles, and which the last.

Triton lets neighbouring lanes run along the dimension that it can prove contiguous, wherever that stands. Where it
cannot (digits of an index), they run along dimension 0: so an axis of that kind goes first, and an axis that is
contiguous for certain goes last, as in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from akg_core.plugin.lower import place, step
from akg_core.plugin.sketch import INDEX, Binary, Expr, Name, Number, Polynomial, walk
from akg_triton.emit.memory import Visit

RUN = 32.0  # neighbours that one access of a warp takes
WISHED = 1e12  # counts more than any access
ROWS = 64  # of a product on matrix units, at least
TURNS = 16.0  # what an access one loop further in counts more


@dataclass(frozen=True, slots=True)
class Along:
    """Which axes an index expression varies with: what `step` asks of a body. `loaded`: those of names
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
    return {axis: step(body, flat, axis, visit.runs.get(axis)) for axis in visit.axes}


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


@dataclass(frozen=True, slots=True)
class Pairing:
    """A product on matrix units: the axes that each operand has alone, those contracted, and the lanes of the former.

    `tf32`: both operands are read as they are in memory, which matrix units do along contracted axes only.
    """

    own: tuple[tuple[str, ...], tuple[str, ...]]
    over: tuple[str, ...]
    lanes: tuple[int, int]
    tf32: bool


def rows_first(order: Sequence[str], visits: Sequence[Visit], pairings: Iterable[Pairing]) -> list[str]:
    """`order` with the rows of products, which may come from registers, before their columns.

    Rows are the operand that does not run along the contracted axes in memory, or else that which fills matrix units.
    """
    found = list(order)
    for pairing in pairings:
        across = [pairing.tf32 and _across(visits, order, own, pairing.over) for own in pairing.own]
        if across[0] == across[1]:
            if min(pairing.lanes) >= ROWS or pairing.lanes[0] == pairing.lanes[1]:
                continue
            rows, columns = pairing.own if pairing.lanes[0] > pairing.lanes[1] else pairing.own[::-1]
        else:
            rows, columns = pairing.own if across[0] else pairing.own[::-1]
        if min(map(found.index, columns)) < max(map(found.index, rows)):
            found = [axis for axis in found if axis not in rows]
            at = min(map(found.index, columns))
            found[at:at] = sorted(rows, key=order.index)
    return found


def _across(visits: Sequence[Visit], axes: Sequence[str], own: Sequence[str], over: Sequence[str]) -> bool:
    """Whether an operand lies in memory along one of its own axes, not along a contracted one."""
    loads = [v for v in visits if not v.stores and set(v.axes) & set(own) and set(v.axes) & set(over)]
    even = {axis for v in loads for axis, gain in steps(v, axes).items() if gain is not None and gain.constant == 1}
    return bool(even & set(own)) and not even & set(over)


def gathers(visits: Iterable[Visit], axes: Sequence[str]) -> bool:
    """Whether some access finds no neighbours: it steps unevenly along an axis, and by one along no other."""
    gains = [list(steps(visit, axes).values()) for visit in visits]
    return any(None in found and not any(gain is not None and gain.constant == 1 for gain in found) for found in gains)


def run(index: Expr | None, axis: str) -> float:
    """How many neighbours along an axis lie in a row, by the digit of it that the innermost index has; at most RUN."""
    for node in walk(index):
        if isinstance(node, Binary) and node.op == "%" and node.left == Name(axis):
            return min(RUN, float(node.right.value) if isinstance(node.right, Number) else RUN)
    return 0.0
