"""Loops of Python in a captured graph: where the same operators come over and over, turn by turn.

`forward` runs while it is captured, so `for t in range(T)` leaves its body T times. `repeats` finds runs of nodes of
one period whose signatures are equal; whether each turn goes on from the one before is for `rolled.py` to see.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from akg_core.records import Node
from akg_core.task.graph import is_reference

LEAST_TURNS = 4  # fewer are not worth a loop
SLIDING = {
    "aten.select.int": (2,),
    "aten.slice.Tensor": (2, 3),
    "aten.select_scatter.default": (3,),
    "aten.slice_scatter.default": (3, 4),
}
"""Operators whose place along a dim may differ from turn to turn, and which arguments say it."""
_CANDIDATES = 32  # periods that are tried where a node's like comes again


@dataclass(frozen=True, slots=True)
class Repeat:
    """`turns` times `period` nodes in a row, from the node `first` on."""

    first: int
    period: int
    turns: int

    @property
    def end(self) -> int:
        return self.first + self.turns * self.period


def signature(node: Node) -> str:
    """What a node has to have in common with those of other turns."""
    moving = SLIDING.get(node.op, ())
    args = ["?" if n in moving else _plain(a) for n, a in enumerate(node.args)]
    return repr((node.op, args, _plain(node.kwargs), node.dtypes, node.shapes))


def _plain(argument: Any) -> Any:
    """An argument with references made equal."""
    if isinstance(argument, dict):
        return {name: _plain(item) for name, item in argument.items()}
    if isinstance(argument, (list, tuple)):
        return [_plain(item) for item in argument]
    return "%" if is_reference(argument) else argument


class Repeats:
    """The runs of a sequence of nodes that repeat, by where they begin."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        numbers: dict[str, int] = {}
        self.kinds = [numbers.setdefault(signature(node), len(numbers)) for node in nodes]
        self._next: list[int] = [0] * len(nodes)  # where each kind comes again; the end where it does not
        last: dict[int, int] = {}
        for at in reversed(range(len(nodes))):
            self._next[at] = last.get(self.kinds[at], len(nodes))
            last[self.kinds[at]] = at
        self._equal: dict[int, list[int]] = {}

    def at(self, first: int) -> Iterator[Repeat]:
        """Runs that begin at a node and have turns enough, the shortest period first."""
        other = first
        for _ in range(_CANDIDATES):
            other = self._next[other]
            if other + (LEAST_TURNS - 2) * (other - first) >= len(self.kinds):
                return
            found = self.of(first, other - first)
            if found.turns >= LEAST_TURNS:
                yield found

    def of(self, first: int, period: int) -> Repeat:
        """The run of a period that begins at a node."""
        if period not in self._equal:
            equal = [0] * (len(self.kinds) + 1)  # how many nodes from each on equal those a period later
            for at in reversed(range(len(self.kinds) - period)):
                equal[at] = equal[at + 1] + 1 if self.kinds[at] == self.kinds[at + period] else 0
            self._equal[period] = equal
        return Repeat(first, period, self._equal[period][first] // period + 1)
