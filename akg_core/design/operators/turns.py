"""Loops of the program from formulas of one turn: what rules of step by step algorithms are written in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace

from akg_core.design.algebra.index import Index, index
from akg_core.design.graph.states import Loop, States
from akg_core.design.graph.values import Positions, Source, Value, view

Turn = Callable[[SimpleNamespace], Mapping[str, Value]]


def looped(
    steps: Index,
    turn: Turn,
    initial: Mapping[str, Value],
    given: Mapping[str, Value] | None = None,
    fixed: Mapping[str, Value] | None = None,
    reverse: bool = False,
) -> dict[str, States]:
    """The states of a loop by their names, each before its first turn and after every one: [steps + 1, …].

    `turn` makes the new states, by name, of what it reads, by name: the turn's row of each of `given`, the states that
    begin as `initial`, and `fixed`. `reverse`: the turn of the last row comes first.
    """
    given, fixed = given or {}, fixed or {}
    now = {n: _source(n, v, v.shape[1:]) for n, v in given.items()}
    before = {n: _source(n, v, v.shape) for n, v in initial.items()}
    held = {n: _source(n, v, v.shape) for n, v in fixed.items()}
    after = turn(SimpleNamespace(**now, **before, **held))
    loop = Loop(
        steps,
        tuple(given.values()),
        tuple(initial.values()),
        tuple(fixed.values()),
        tuple(now.values()),
        tuple(before.values()),
        tuple(held.values()),
        tuple(after[n] for n in initial),
        reverse,
    )
    return {
        name: States(loop, number, shape=(steps + 1, *value.shape), dtype=value.dtype)
        for number, (name, value) in enumerate(initial.items())
    }


def ended(states: States) -> Value:
    """A state as the last turn leaves it."""
    last = index(0) if states.loop.reverse else states.loop.steps
    return row(states, last)


def row(value: Value, number: Index) -> Value:
    """The element `number` along the first dim."""

    def look(at: Positions) -> Positions:
        return (number, *at)

    return view(value, value.shape[1:], look)


def _source(name: str, value: Value, shape: tuple[Index, ...]) -> Source:
    return Source(f"turn:{name}", shape=shape, dtype=value.dtype)
