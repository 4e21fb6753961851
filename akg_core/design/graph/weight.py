"""How much it takes to compute a value in one kernel, down to what has a tensor of its own."""

from __future__ import annotations

from collections.abc import Iterator

from akg_core.design.graph.reach import parts_first
from akg_core.design.graph.values import Gather, Pointwise, Value, View, Window, held

HEAVIEST = 256


class Weights:
    """Bounds on the terms that values unfold to, those of positions included.

    What is read at two places counts twice, as its positions may differ there; positions that are read from a tensor
    or reshaped are long themselves.
    """

    def __init__(self) -> None:
        self._known: dict[Value, int] = {}

    def light(self, value: Value) -> Value:
        """`value`, or, where it is computed and unfolds to too much, the same in a tensor of its own."""
        if isinstance(value, View):
            return value
        for part in parts_first(value, self._known, lambda part: [moved for moved, _ in _elsewhere(part)]):
            self._known[part] = len(_here(part)) + sum(self._known[moved] * long for moved, long in _elsewhere(part))
        if self._known[value] <= HEAVIEST:
            return value
        kept = held(value)
        self._known[kept] = 1
        return kept


def _here(value: Value) -> list[Value]:
    """What is computed at a value's own positions."""

    def parts(part: Value) -> tuple[Value, ...]:
        if isinstance(part, Gather):
            return part.places
        return part.args if isinstance(part, Pointwise) else ()

    return parts_first(value, parts=parts)


def _elsewhere(value: Value) -> Iterator[tuple[Value, int]]:
    """What a value reads at other positions than its own, each time, and how much longer these positions are."""
    for part in _here(value):
        if not isinstance(part, (View, Window, Gather)):
            continue
        long, moved = 2 if isinstance(part, Gather) else 1, part if isinstance(part, View) else part.arg
        while isinstance(moved, View):
            long = 4 if moved.move is not None and moved.move[0] == "reshape" else long
            moved = moved.arg
        yield moved, long
