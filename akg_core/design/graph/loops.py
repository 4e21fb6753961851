"""A loop of Python as one value: its body traced once, each turn going on from the states that the one before left."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence

from akg_core.design.algebra.index import Index, index
from akg_core.design.graph.batched import Batched
from akg_core.design.graph.reach import parts_first
from akg_core.design.graph.rolled import Part, Rolled
from akg_core.design.graph.states import Loop, States
from akg_core.design.graph.values import (
    Attention,
    Literal,
    Positions,
    Product,
    Reduced,
    Scan,
    Scatter,
    Segmented,
    Shape,
    Sorted,
    Source,
    Value,
    literal,
    narrow,
    permute,
    reshape,
    view,
)

Look = Callable[[str], Value]
Early = Callable[[Value], Value]
Traced = Callable[[Sequence[str], Mapping[str, Value], Early], Sequence[Value]]
_COSTLY = (Reduced, Product, Scan, Sorted, Segmented, Scatter, Attention)
_MANY = 16  # turns of elementwise work that are a loop; fewer are one expression
_MOST = 1 << 28  # numbers that the states of all turns may have


class _Handed(dict[Value, Value]):
    """What a loop is handed, by the sources that its turns read in the place of each."""

    def add(self, value: Value, shape: Shape, name: str) -> Source:
        source = Source(f"turn:{name.removeprefix('%').replace(':', '_')}", shape=shape, dtype=value.dtype)
        self[source] = value
        return source

    def only(self, read: Container[Value]) -> tuple[tuple[Source, ...], tuple[Value, ...]]:
        """The sources that are read, and their values."""
        kept = {s: value for s, value in self.items() if s in read and isinstance(s, Source)}
        return tuple(kept), tuple(kept.values())


def loop_of(rolled: Rolled, look: Look, traced: Traced) -> dict[str, Value] | None:
    """What each turn of a loop leaves, [turns, …], by the body's names of what is used of it; None where no loop is
    better.

    `look`: a value from before the loop by its name, in the dtype that it is kept in. `traced`: what values of the
    body are, by their names, where the names of what they are made of mean these values; it asks of each operator's
    results what stands for them where they are made before the loop.
    """
    turns = index(rolled.turns)
    given, fixed, states = _Handed(), _Handed(), _Handed()
    known: dict[str, Value] = {}
    for part in rolled.parts:
        whole = _by_turns(look(part.base), part, rolled.turns)
        known[part.name] = given.add(whole, whole.shape[1:], part.name)
    for name in rolled.fixed:
        value = look(name)
        known[name] = value if isinstance(value, Literal) else fixed.add(value, value.shape, name)
    for name, (_, first) in rolled.carried.items():
        known[name] = states.add(look(first), look(first).shape, name)
    names = [name for name, _ in rolled.carried.values()]
    extra = [name for name in rolled.kept if name not in names]
    found = dict(zip([*names, *extra], traced([*names, *extra], known, _early(turns, given, fixed)), strict=True))
    left = _Left(turns, given, fixed, states, [found[name] for name in names])
    late = {name: found[name] for name in extra if left.is_late(found[name])}
    for name in extra:
        if name not in late:
            left.keep(found[name], name)
    if not _worth_it(rolled.turns, left.after, len(given) > len(rolled.parts) or bool(late)):
        return None
    kept = dict(zip([*names, *(n for n in extra if n not in late)], left.states(), strict=True))
    return kept | {name: left.made(value) for name, value in late.items()}


class _Left:
    """What the turns of a loop leave: states, and what is made of all of these at once after the loop."""

    def __init__(self, turns: Index, given: _Handed, fixed: _Handed, before: _Handed, after: Sequence[Value]) -> None:
        self.after = [*after]
        self._turns, self._given, self._fixed, self._before = turns, given, fixed, before
        self._inside = {part for value in after for part in parts_first(value)}
        self._rows: dict[Value, Value] = {v: v for v in (*given, *before, *after)}  # all turns of each, once known
        self._batched = Batched(turns, self._rows, fixed)

    def is_late(self, value: Value) -> bool:
        """Whether no turn needs a value, and it is made of what states and the loop's own parts hold."""
        return value not in self._inside and self._batched.can(value)

    def keep(self, value: Value, name: str) -> None:
        """Make a value a state that no turn reads."""
        self._before.add(literal(0, value.dtype, value.shape), value.shape, name)
        self.after.append(value)

    def states(self) -> list[Value]:
        """The states after each turn."""
        read = {part for value in self.after for part in parts_first(value)}
        (now, given), (held, fixed) = self._given.only(read), self._fixed.only(read)
        before, initial = self._before.only(self._before)
        loop = Loop(self._turns, given, initial, fixed, now, before, held, tuple(self.after))
        shapes = ((self._turns + 1, *value.shape) for value in self.after)
        all_states = [States(loop, n, shape=s, dtype=before[n].dtype) for n, s in enumerate(shapes)]
        found: list[Value] = [narrow(states, 0, index(1), self._turns) for states in all_states]
        self._rows.update(self._given)
        for source, states in zip(before, all_states, strict=True):
            self._rows[source] = narrow(states, 0, index(0), self._turns)
        self._rows.update(zip(self.after, found, strict=True))
        return found

    def made(self, value: Value) -> Value:
        """A late value of all turns."""
        whole = self._batched.of(value)
        assert whole is not None
        return whole


def _early(turns: Index, given: _Handed, fixed: _Handed) -> Early:
    """What costs more than elementwise work, and nothing of the turn before is needed for, is made for all turns."""

    def early(value: Value) -> Value:
        if not any(isinstance(part, (Product, Reduced)) for part in parts_first(value)):
            return value
        whole = Batched(turns, given, fixed).of(value)
        if whole is None or whole.size.example > _MOST:
            return value
        return given.add(whole, value.shape, f"early_{len(given)}")

    return early


def after_turn(left: Value, turn: int) -> Value:
    """What one turn has left."""
    return view(left, left.shape[1:], lambda at: (index(turn), *at))


def _by_turns(base: Value, part: Part, turns: int) -> Value:
    """What each turn takes of a value, along a new first dim."""
    dim = part.dim % len(base.shape)
    rest = tuple(index(part.length) if d == dim else s for d, s in enumerate(base.shape))
    rest = (*rest[:dim], *rest[dim + 1 :]) if part.selected else rest
    if part.selected and part.stride == 1:
        first = narrow(base, dim, index(part.start), index(turns))
        return permute(first, (dim, *(d for d in range(len(base.shape)) if d != dim)))

    def look(at: Positions) -> Positions:
        turn, own = at[0] * part.stride + part.start, at[1:]
        inner = (*own[:dim], turn, *own[dim:]) if part.selected else own
        return tuple(p + turn if d == dim and not part.selected else p for d, p in enumerate(inner))

    return view(base, (index(turns), *rest), look)


def _worth_it(turns: int, after: Sequence[Value], moved: bool) -> bool:
    """Whether a loop is better than its turns written out: it launches kernels, and its states do not fill memory.

    `moved`: there is work that is done for all turns at once. A loop in a loop is none: the inner one stays.
    """
    parts = {part for value in after for part in parts_first(value)}
    if any(isinstance(part, States) for part in parts) or sum(v.size.example for v in after) * turns > _MOST:
        return False
    return moved or turns >= _MANY or any(isinstance(part, _COSTLY) for part in parts)


def beside(values: Sequence[Value], dim: int, rows: Mapping[Value, tuple[Value, int]]) -> list[Value]:
    """Values that are to lie beside each other along a dim, those that turns have left in a row as one."""
    found: list[Value] = []
    at = 0
    while at < len(values):
        left, turn = rows.get(values[at], (None, 0))
        stop = at + 1
        while left and stop < len(values) and rows.get(values[stop]) == (left, turn + stop - at):
            stop += 1
        found.append(values[at] if left is None or stop == at + 1 else _together(left, turn, stop - at, dim))
        at = stop
    return found


def _together(left: Value, turn: int, turns: int, dim: int) -> Value:
    """What some turns have left beside each other along a dim."""
    moved = _turns_at(narrow(left, 0, index(turn), index(turns)), dim)
    return reshape(moved, tuple(s * turns if d == dim else s for d, s in enumerate(left.shape[1:])))


def _turns_at(left: Value, dim: int) -> Value:
    """The dim of the turns as dim `dim`."""
    return permute(left, (*range(1, dim + 1), 0, *range(dim + 1, len(left.shape))))


def all_parts(left: Value, part: Part, rank: int) -> Value:
    """The parts of a tensor of `rank` dims that all turns have written, beside each other."""
    dim = part.dim % rank
    if part.selected:
        return _turns_at(left, dim)
    return _together(left, 0, left.shape[0].example, dim)
