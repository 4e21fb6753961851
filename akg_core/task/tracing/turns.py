"""All turns of a loop at once while forward is traced, as `akg_core.task.source.loops` writes them.

What differs from turn to turn is a tensor with a dim for each loop in front (`Each`). An `if` leaves some turns out,
which then read from place 0 and write nothing. What a turn writes is written when all is known: at each place what the
last turn wrote there, or the sum of what was added. Whatever would be otherwise turn by turn is declined, and the loop
is traced as it stands. Worker side only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from akg_core.task.data_dependent.domain import parts_of
from akg_core.task.layout import storage_of


class Declined(Exception):
    """The turns cannot be done at once."""


class Each:
    """A value of every turn: `values` has a dim for each of the `loops` outermost loops, of size 1 or their turns.

    `counted`: it follows from the numbers of the turns alone.
    """

    def __init__(self, values: Tensor, loops: int, counted: bool = False) -> None:
        self.values, self.loops, self.counted = values, loops, counted

    @property
    def shape(self) -> torch.Size:
        """That of one turn."""
        return self.values.shape[self.loops :]

    dtype = property(lambda self: self.values.dtype)
    device = property(lambda self: self.values.device)
    ndim = property(lambda self: len(self.shape))

    def dim(self) -> int:
        return len(self.shape)

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> int:
        return math.prod(self.shape)

    def to(self, dtype: torch.dtype) -> Each:
        if not isinstance(dtype, torch.dtype):
            raise Declined
        return Each(self.values.to(dtype), self.loops, self.counted)

    def __getattr__(self, name: str) -> Callable[[], Each]:
        if name not in ("long", "int", "float", "double", "half", "bfloat16", "bool", "clone", "contiguous"):
            raise Declined
        return lambda: Each(getattr(self.values, name)(), self.loops, self.counted)

    def lifted(self, loops: int, rank: int) -> Tensor:
        """The values with dims for this many loops, and at least `rank` for one turn."""
        if loops < self.loops:  # of a loop that has ended
            raise Declined
        front = list(self.values.shape[: self.loops])
        return self.values.reshape(*front, *(1,) * (loops - self.loops), *(1,) * max(0, rank - self.ndim), *self.shape)

    def __bool__(self) -> bool:
        raise Declined

    __hash__ = None  # type: ignore[assignment]
    __iter__ = __len__ = __index__ = __int__ = __float__ = __contains__ = __bool__


def _operator(name: str, reflected: bool) -> Callable[..., Any]:
    def apply(self: Each, *others: Any) -> Any:
        operands = (*others, self) if reflected else (self, *others)
        return _mapped(getattr(Tensor, name), operands)

    return apply


_COMBINE = "add sub mul truediv floordiv mod and or xor"
_OPERATORS = f"{_COMBINE} lt le gt ge eq ne neg invert abs"
for _name in _OPERATORS.split():
    setattr(Each, f"__{_name}__", _operator(f"__{_name}__", False))
for _name in _COMBINE.split():
    setattr(Each, f"__r{_name}__", _operator(f"__{_name}__", True))


def _mapped(function: Callable[..., Any], operands: Sequence[Any]) -> Each:
    """A function of each turn's values, with the dtype that it has turn by turn."""
    if not all(isinstance(each, (Each, Tensor, bool, int, float, torch.SymInt)) for each in operands):
        raise Declined
    some = [each if isinstance(each, Each) else Each(each, 0) for each in operands if isinstance(each, (Each, Tensor))]
    loops, rank = max(each.loops for each in some), max(each.ndim for each in some)
    dtype = torch.result_type(*map(_like, some)) if len(some) == 2 else some[0].dtype
    tensors = iter([each.lifted(loops, rank) for each in some])
    given = [next(tensors) if isinstance(each, (Each, Tensor)) else each for each in operands]
    if len(some) == 2:
        given = [each.to(dtype) for each in given]
    if not isinstance(given[0], Tensor):
        given[0] = torch.full((), given[0], dtype=torch.result_type(given[1], given[0]))
    return Each(function(*given), loops, all(each.counted for each in some))


def _like(each: Each) -> Tensor:
    """A tensor that promotes as one turn's does."""
    return torch.empty((1,) * each.ndim, dtype=each.dtype)


def run(turn: Callable[..., None], over: str, given: Sequence[Any], reads: Sequence[Any]) -> bool:
    """Do all turns of a loop; False, with nothing done, where they have to be done one after the other.

    `over`, `given`: what the loop counts, range(n) or enumerate(x). `reads`: whatever a turn reads that is made before.
    """
    turns = Turns([*given, *reads])
    try:
        number = turns.enter(given[0] if over == "range" else given[0].shape[0])
        turn(turns, number, *([turns.load(given[0], number)] if over == "enumerate" else []))
        writes = turns.writes()
    except Exception:  # the loop as it stands says what is wrong with it
        return False
    for view, new in writes:
        view.copy_(new)
    return True


class Turns:
    """What the turns of a loop, and of loops in it, have read and written."""

    def __init__(self, reads: Sequence[Any]) -> None:
        self._read = {
            storage_of(each) for each in torch.utils._pytree.tree_leaves(list(reads)) if isinstance(each, Tensor)
        }
        self._counts: list[Any] = []
        self._masks: list[Each | None] = []
        self._writes: list[tuple[Tensor, Tensor]] = []
        self._reads_numbers = False

    # --- control flow --------------------------------------------------------------------------------

    def enter(self, count: Any) -> Each:
        """A loop in every turn so far: its numbers."""
        if not isinstance(count, (int, torch.SymInt)) or (isinstance(count, int) and count <= 0):
            raise Declined
        loops, number = len(self._counts), torch.arange(count)  # type: ignore[arg-type]
        self._counts.append(count)
        return Each(number.reshape(*(1,) * loops, -1), loops + 1, counted=True)

    def leave(self) -> None:
        self._counts.pop()

    def begin(self, condition: Any, escapes: bool) -> bool:
        """Whether a block is for any turn, which are those that meet the condition until `end`.

        `escapes`: what the block names is used after it.
        """
        if isinstance(condition, (Each, Tensor)):
            if escapes:
                raise Declined
            self._reads_numbers |= not _bool(condition).counted
            self._masks.append(_narrowed(self._mask(), _bool(condition)))
            return True
        if condition:
            self._masks.append(self._mask())
        return bool(condition)

    def end(self) -> None:
        self._masks.pop()

    def _mask(self) -> Each | None:
        return self._masks[-1] if self._masks else None

    def both(self, condition: Any, other: Callable[[], Any]) -> Any:
        """`condition and other`, the other for the turns that meet the condition."""
        if not isinstance(condition, (Each, Tensor)):
            return other() if condition else condition
        self._masks.append(_narrowed(self._mask(), _bool(condition)))
        try:
            return _mapped(torch.logical_and, (_bool(condition), _bool(other())))
        finally:
            self._masks.pop()

    def either(self, condition: Any, other: Callable[[], Any]) -> Any:
        """`condition or other`."""
        return self.negated(self.both(self.negated(condition), lambda: self.negated(other())))

    def negated(self, condition: Any) -> Any:
        if not isinstance(condition, (Each, Tensor)):
            return not condition
        return _mapped(torch.logical_not, (_bool(condition),))

    # --- values --------------------------------------------------------------------------------------

    def number(self, x: Any) -> Any:
        """`x.item()` or `int(x)`: a whole number of every turn."""
        if isinstance(x, Tensor):
            x = Each(x, 0)
        if not isinstance(x, Each):
            return int(x)
        if x.numel() != 1 or x.dtype.is_floating_point or x.dtype in (torch.bool, torch.uint8):
            raise Declined
        self._reads_numbers |= not x.counted
        return Each(x.values.reshape(x.values.shape[: x.loops]).long(), x.loops, x.counted)

    def load(self, x: Any, index: Any) -> Any:
        """`x[index]` in every turn."""
        if isinstance(x, Each):
            if any(isinstance(part, (Each, Tensor)) or part is Ellipsis for part in parts_of(index)):
                raise Declined
            within = (*(slice(None),) * x.loops, *parts_of(index))
            return Each(x.values[within], x.loops)
        if not isinstance(x, Tensor):
            return x[index]
        if not any(isinstance(part, Each) for part in parts_of(index)):
            return x[index]
        view, places = self._places(x, index, self._mask())
        return Each(view[tuple(places)], len(self._counts))

    def store(self, x: Any, index: Any, value: Any, read: bool) -> None:
        """`x[index] = value` in every turn; `read`: turns read what `x` stands for, too."""
        self._write(x, index, value, read, False)

    def add(self, x: Any, index: Any, value: Any, read: bool) -> None:
        """`x[index] += value` in every turn."""
        self._write(x, index, value, read, True)

    def _write(self, x: Any, index: Any, value: Any, read: bool, adds: bool) -> None:
        if isinstance(x, list) and not adds and not self._mask():
            x[index] = value
            return
        known = self._read | {storage_of(base) for base, _ in self._writes}
        if not isinstance(x, Tensor) or read or storage_of(x) in known:
            raise Declined
        value = torch.tensor(value) if isinstance(value, (bool, int, float)) else value
        self._writes.append(self._written(x, index, value if isinstance(value, Each) else Each(value, 0), adds))

    def writes(self) -> list[tuple[Tensor, Tensor]]:
        """Views of the tensors that turns write to, and what is there after the last turn.

        Raises Declined where turns read no numbers: where they write is then known without running them.
        """
        if not self._reads_numbers:
            raise Declined
        return self._writes

    def _written(self, x: Tensor, index: Any, value: Each, adds: bool) -> tuple[Tensor, Tensor]:
        mask, loops, counts = self._mask(), len(self._counts), self._counts
        view, places = self._places(x, index, mask)
        sizes, rest = view.shape[: len(places)], view.shape[len(places) :]
        place: Any = 0
        for at, size in zip(places, sizes, strict=True):
            place = place * size + torch.where(at < 0, at + size, at)
        active = None if mask is None else mask.lifted(loops, 0).expand(counts).reshape(-1)
        values = value.lifted(loops, len(rest))
        if values.dim() != loops + len(rest):
            raise Declined
        values = values.expand(*counts, *rest).reshape(-1, *rest).to(view.dtype)
        new = (added if adds else last_written)(
            view.reshape(-1, *rest), place.expand(counts).reshape(-1), values, active
        )
        return view, new.reshape(view.shape)

    def _places(self, x: Tensor, index: Any, mask: Each | None) -> tuple[Tensor, list[Tensor]]:
        """A view of `x` with the dims that differ from turn to turn in front, and the place in each of these."""
        parts, loops = _expanded(index, x.dim()), len(self._counts)
        at = {dim: part for dim, part in enumerate(parts) if isinstance(part, Each)}
        plain = all(isinstance(part, (Each, int, slice)) and not isinstance(part, bool) for part in parts)
        if not at or not plain or any(part.ndim or part.dtype != torch.int64 for part in at.values()):
            raise Declined
        view = x[tuple(slice(None) if dim in at else part for dim, part in enumerate(parts))]
        gone = [dim for dim, part in enumerate(parts) if isinstance(part, int)]
        front = [dim - sum(each < dim for each in gone) for dim in at]
        view = view.permute(*front, *(dim for dim in range(view.dim()) if dim not in front))
        places = [part.lifted(loops, 0) for part in at.values()]
        if mask is not None:
            places = [torch.where(mask.lifted(loops, 0), each, 0) for each in places]
        return view, list(torch.broadcast_tensors(*places))


def last_written(old: Tensor, place: Tensor, value: Tensor, active: Tensor | None) -> Tensor:
    """Rows with the value of the last turn that writes there."""
    number = torch.arange(place.shape[0])
    if active is not None:
        number = torch.where(active, number, -1)
    last = torch.full((old.shape[0],), -1).scatter_reduce(0, place, number, "amax")
    written = (last >= 0).reshape(-1, *(1,) * (old.dim() - 1))
    return torch.where(written, value[last.clamp(min=0)], old)


def added(old: Tensor, place: Tensor, value: Tensor, active: Tensor | None) -> Tensor:
    if active is not None:
        value = torch.where(active.reshape(-1, *(1,) * (old.dim() - 1)), value, 0)
    return old.index_add(0, place, value)


def _narrowed(mask: Each | None, condition: Each) -> Each:
    return condition if mask is None else _mapped(torch.logical_and, (mask, condition))


def _bool(x: Any) -> Each:
    x = Each(torch.tensor(x), 0) if isinstance(x, bool) else Each(x, 0) if isinstance(x, Tensor) else x
    if not isinstance(x, Each) or x.ndim:
        raise Declined
    return Each(x.values if x.dtype == torch.bool else x.values != 0, x.loops, x.counted)


def _expanded(index: Any, rank: int) -> list[Any]:
    """An index with a part for every dim."""
    parts = list(parts_of(index))
    if any(part is None for part in parts):
        raise Declined
    dots = [n for n, part in enumerate(parts) if part is Ellipsis]
    if len(dots) > 1:
        raise Declined
    missing = [slice(None)] * (rank - len(parts) + len(dots))
    return parts[: dots[0]] + missing + parts[dots[0] + 1 :] if dots else parts + missing
