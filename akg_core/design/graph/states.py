"""Turns of the same work as values: each goes on from the states that the one before has left."""

from __future__ import annotations

from dataclasses import dataclass

from akg_core.design.algebra.index import Index
from akg_core.design.graph.values import Source, Value


@dataclass(frozen=True, eq=False, slots=True)
class Loop:
    """`steps` turns of the same work, each going on from the states that the one before has left.

    A turn reads `given` at its own position of dim 0, the states and `fixed`; in its values `after`, which are the new
    states, these are the sources `now`, `before` and `held`. `reverse`: the turn of the last position comes first.
    """

    steps: Index
    given: tuple[Value, ...]
    initial: tuple[Value, ...]
    fixed: tuple[Value, ...]
    now: tuple[Source, ...]
    before: tuple[Source, ...]
    held: tuple[Source, ...]
    after: tuple[Value, ...]
    reverse: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class States(Value):
    """State `part` of a loop before its first turn and after each, along dim 0 in the order of the positions."""

    loop: Loop
    part: int
