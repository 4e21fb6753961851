"""Loops as often as values say while forward is traced, as `akg_core.task.source.steps` writes them: one turn, for all.

What a turn goes on from, and what it leaves, are tensors of the same shape: `akg_core::begun` gives what the turn
before has left, and its number, `akg_core::ended` takes what this one leaves, and gives what is left after as many
turns as there may be. What is between the two is the turn. One that values leave out leaves everything as it is. Lists
that turns append to are rows, of which a mask says which are there. Worker side only.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from akg_core.task.data_dependent.dense import dense
from akg_core.task.data_dependent.domain import Domain, counted
from akg_core.task.data_dependent.picked import Picked
from akg_core.task.graph import BEGUN, ENDED
from akg_core.task.layout import storage_of
from akg_core.task.tracing import choices
from akg_core.task.tracing.choices import Grown, Undecided, depends
from akg_core.task.tracing.read_numbers import is_number, read

_LIBRARY = torch.library.Library("akg_core", "FRAGMENT")
_LIBRARY.define(f"{BEGUN}(int loop, SymInt turns, Tensor[] initial) -> Tensor[]")
_LIBRARY.define(f"{ENDED}(int loop, SymInt turns, Tensor number, Tensor[] after, Tensor[] left) -> Tensor[]")
_numbers = itertools.count()
_DTYPES = {bool: torch.bool, int: torch.int64, float: torch.float64}


def _begun(loop: int, turns: Any, initial: Sequence[Tensor]) -> list[Tensor]:
    """The number of a turn, and what the one before has left."""
    return [initial[0].new_empty((), dtype=torch.int64), *map(_like, initial)]


def _ended(loop: int, turns: Any, number: Tensor, after: Sequence[Tensor], left: Sequence[Tensor]) -> list[Tensor]:
    """What the last turn has left, and what every one has: [turns, …]."""
    return [*map(_like, after), *(each.new_empty((turns, *each.shape)) for each in left)]


def _like(x: Tensor) -> Tensor:
    return x.new_empty(x.shape)


torch.library.register_fake(f"akg_core::{BEGUN}", _begun, lib=_LIBRARY)
torch.library.register_fake(f"akg_core::{ENDED}", _ended, lib=_LIBRARY)


_plain: list[tuple[int, int]] = []  # lines of loops that have run turn by turn, the outermost first
_stepped: set[int] = set()  # first lines of loops over what is known of which one turn is traced all the same


def restart() -> None:
    """Begin with a file of which nothing is known."""
    _plain.clear()
    _stepped.clear()


def retry(line: int) -> bool:
    """Whether there is another way to trace what has failed at a line: a loop around it, one turn for all."""
    around = [first for first, last in _plain if first <= line <= last and first not in _stepped]
    _plain.clear()
    _stepped.update(around[-1:])
    return bool(around)


def begin(
    given: Sequence[Any], names: Sequence[str], needed: Sequence[str], lines: tuple[int, int], scope: Mapping[str, Any]
) -> Steps | None:
    """The turns of a loop over a range, where its end is how many rows a mask picks, or nothing else has been found to
    trace it; else None.

    `names`: what turns change and others may see; `needed`: of which a turn reads what the one before has left.
    """
    start, stop = (0, *given) if len(given) == 1 else given
    domain = counted(stop)
    if isinstance(start, int) and domain is not None:
        return Steps(domain.kept.shape[0] - start, start, domain.count, names, needed, scope)
    if isinstance(start, int) and lines[0] in _stepped and isinstance(stop, (int, torch.SymInt)):
        return Steps(stop - start, start, None, names, needed, scope)
    _plain.append(lines)
    return None


class Steps:
    """`before`: what the `names` stand for when a turn begins, and its number."""

    def __init__(
        self,
        turns: Any,
        start: int,
        stop: Tensor | None,
        names: Sequence[str],
        needed: Sequence[str],
        scope: Mapping[str, Any],
    ) -> None:
        self._names, self._needed, self._depth = names, needed, choices.depth()
        self._states = {name: state for name in names if (state := _state(scope.get(name, _MISSING))) is not None}
        self._plain = {name: scope.get(name, _MISSING) for name in names if name not in self._states}
        self._loop, self._turns = next(_numbers), turns
        unknown = torch.zeros((), dtype=torch.int64)  # the others may be constants, with which tracing would compute
        initial = [*(state.initial for state in self._states.values()), unknown]
        self._turn, *before = torch.ops.akg_core.begun(self._loop, self._turns, initial)
        inside = {name: s.inside(b, self._depth) for (name, s), b in zip(self._states.items(), before, strict=False)}
        number = read(self._turn) + start
        self._active = number >= start if stop is None else number < stop
        missing = Undecided()
        plain = {name: missing if value is _MISSING else value for name, value in self._plain.items()}
        self.before = (*(inside.get(n, plain.get(n)) for n in names), number)
        self._known = {storage_of(each) for each in tree_leaves(list(scope.values())) if isinstance(each, Tensor)}
        self._scope = dict(scope)
        choices.enter(self)

    def _require_apart(self) -> None:
        """Raise where what a turn has written to had another name before it, too; new tensors may take its name."""
        written = {storage_of(state.was) for state in self._states.values() if state.is_written}
        for name, value in self._scope.items():
            shared = isinstance(value, Tensor) and name not in self._states and storage_of(value) in written
            if shared and not is_number(value):
                raise depends()

    def goes(self, stopped: Any = False) -> Any:
        """Whether a turn counts: as long as none has said that it is the last."""
        return self._active & ~stopped if isinstance(stopped, Tensor) else self._active

    def require_own(self, tensor: Tensor) -> None:
        """Raise where a turn writes to what is none of its states."""
        if storage_of(tensor) in self._known:
            raise depends()

    def end(self, scope: Mapping[str, Any]) -> tuple[Any, ...]:
        """What the names stand for after all turns."""
        choices.leave(self)
        self._require_apart()
        after, left = [], []
        lost: set[str] = {n for n, value in self._plain.items() if scope.get(n, _MISSING) is not value}
        for name, state in self._states.items():
            new = state.after(scope.get(name, _MISSING))
            if new is None:
                lost.add(name)
            after.append(state.initial if new is None else new)
            left += state.left()
        if lost & {*self._needed}:
            raise depends()
        found = torch.ops.akg_core.ended(self._loop, self._turns, self._turn, after, left)
        finals, rest = found[: len(after)], found[len(after) :]
        values: dict[str, Any] = {}
        for (name, state), final in zip(self._states.items(), finals, strict=True):
            own, rest = rest[: len(state.left())], rest[len(state.left()) :]
            values[name] = state.ended(scope.get(name), final, own)
        return tuple(Undecided() if n in lost else values.get(n, self._plain.get(n)) for n in self._names)


_MISSING: Any = object()


def _state(value: Any) -> _State | None:
    """What holds a value between two turns; None for what no tensor holds."""
    if isinstance(value, list) and not value:
        return _OfList(value, torch.zeros((), dtype=torch.int64))
    if isinstance(value, (bool, int, float)):
        return _OfNumber(value, torch.full((), value, dtype=_DTYPES[type(value)]))
    if is_number(value):
        return _OfNumber(value, value)
    if isinstance(value, Picked):
        rows = dense(value)
        return _OfRows(value, rows.spread().clone(), rows.domain)
    return _State(value, value) if isinstance(value, Tensor) else None


class _State:
    """A tensor that turns change. `was`: what its name stands for before the loop, `initial`: a tensor of that."""

    def __init__(self, was: Any, initial: Tensor) -> None:
        self.was, self.initial = was, initial
        self.mine: Any = None

    def inside(self, before: Tensor, depth: int) -> Any:
        """What a turn has for it, where the one before has left `before`."""
        self.mine = before
        return before

    def after(self, now: Any) -> Tensor | None:
        """The tensor that holds what a turn leaves; None where it is something else."""
        now = torch.tensor(now) if isinstance(now, (bool, int, float)) else now
        alike = isinstance(now, Tensor) and now.shape == self.initial.shape
        return now if alike and now.dtype == self.initial.dtype else None

    @property
    def is_written(self) -> bool:
        """Whether the turn has changed the tensor itself, through whatever name."""
        return isinstance(self.was, Tensor) and isinstance(self.mine, Tensor) and self.mine._version > 0

    def left(self) -> list[Tensor]:
        """What of every turn is used after the loop."""
        return []

    def ended(self, now: Any, final: Tensor, left: Sequence[Tensor]) -> Any:
        """What the name stands for after the loop."""
        if now is not self.mine:
            return final
        return self.was.copy_(final) if self.mine._version else self.was


class _OfNumber(_State):
    def inside(self, before: Tensor, depth: int) -> Any:
        self.mine = before if before.dtype == torch.bool else read(before)
        return self.mine

    def ended(self, now: Any, final: Tensor, left: Sequence[Tensor]) -> Any:
        return final if final.dtype == torch.bool else read(final)


class _OfRows(_State):
    def __init__(self, was: Picked, initial: Tensor, domain: Domain) -> None:
        super().__init__(was, initial)
        self._domain = domain

    def inside(self, before: Tensor, depth: int) -> Any:
        self.mine = Picked(before, self._domain)
        return self.mine

    def after(self, now: Any) -> Tensor | None:
        if not isinstance(now, Picked) or now.domain.root is not self._domain.root:
            return None
        rows: Tensor = dense(now).spread()
        return super().after(rows)

    def ended(self, now: Any, final: Tensor, left: Sequence[Tensor]) -> Any:
        if now is not self.mine:
            return Picked(final, self._domain)
        self.was.becomes(final, self._domain)
        return self.was


class _OfList(_State):
    def inside(self, before: Tensor, depth: int) -> Any:
        self.mine = Grown(read(before), depth)
        return self.mine

    def after(self, now: Any) -> Tensor | None:
        return self.mine.count if now is self.mine else None

    def left(self) -> list[Tensor]:
        return list(self.mine.appended())

    def ended(self, now: Any, final: Tensor, left: Sequence[Tensor]) -> Any:
        if not left:
            return self.was
        values, kept = left
        found = Picked(values.flatten(0, 1), Domain(kept.reshape(-1)))
        found.is_python = True
        return found
