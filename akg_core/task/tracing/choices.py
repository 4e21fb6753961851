"""`if` by the values of tensors while forward is traced, as `akg_core.task.source.branches` writes it: the block is
run, and what it leaves is chosen by the condition, name by name and tensor by tensor.

    if n == 0:                  choice = when(n == 0, names, locals())
        y += 1           =>     if choice:
                                    y += 1
                                    if choice is not True: y, = choice.end(locals(), True)

Conditions that are known go as they do in Python. What cannot be chosen, lists of other lengths or tensors of other
shapes, is `Undecided`, which nobody may use. Worker side only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import DataDependentOutputException
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from akg_core.task.data_dependent.domain import Domain, Rows, counted, is_in_place
from akg_core.task.data_dependent.ragged import Ragged

_MOST_TURNS = 1024
_MISSING: Any = object()
_DRAW = """
    rand randn randint randperm rand_like randn_like randint_like bernoulli multinomial normal uniform exponential
    dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout rrelu gumbel_softmax poisson
    """
RANDOM = frozenset(_DRAW.split())
"""Functions whose results are others each time."""
_MATH = ("sqrt", "exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "tanh")
NUMBERS: dict[str, Callable[[Any], Any]] = {"int": int, "float": float}
NUMBERS |= {f"math.{name}": getattr(math, name) for name in _MATH}
"""Functions of one number, as files call them."""
_open: list[Choice] = []
_loops: list[Any] = []  # of which a turn is being traced


class Undecided:
    """What may be one thing or another, by values."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise depends()

    __getattr__ = __call__ = __iter__ = __len__ = __getitem__ = __bool__ = __add__ = __radd__ = __mul__ = __rmul__ = (
        _refuse
    )

    @classmethod
    def __torch_function__(cls, *_: Any, **__: Any) -> Any:
        raise depends()


def depends() -> DataDependentOutputException:
    """For what is one thing or another by values that nobody knows."""
    return DataDependentOutputException(torch.ops.aten._local_scalar_dense.default)


def number(name: str, x: Any) -> Any:
    """What one of `NUMBERS` gives, of a tensor what it gives of the number that this holds; a size that is traced, or
    a float argument, which is a tensor meanwhile, is its own int or float."""
    if isinstance(x, torch.SymInt) if name == "int" else name == "float" and _is_real(x):
        return x
    found = x.item() if isinstance(x, Tensor) else x
    if not isinstance(found, Tensor):
        return NUMBERS[name](found)
    if name == "int":
        return found.long() if found.is_floating_point() else found
    found = found if found.is_floating_point() else found.double()
    return found if name == "float" else getattr(torch, name.removeprefix("math."))(found)


def _is_real(x: Any) -> bool:
    return isinstance(x, Tensor) and x.dtype == torch.float64 and not x.dim()


def says(condition: Tensor, domain: Domain | None, some: bool) -> None:
    """A condition is known to say that a mask keeps some elements, or none."""
    condition.says = (domain, some)  # type: ignore[attr-defined]


class Choice:
    """A block that is run whether its condition holds or not: `condition` says whether what it does counts.

    `names`: what the block assigns; `scope`: what they and others stand for before it. `first`: the block that this one
    is the `else` of.
    """

    def __init__(
        self, condition: Tensor, names: Sequence[str], scope: Mapping[str, Any], first: Choice | None = None
    ) -> None:
        domain, some = getattr(condition, "says", (counted(condition), True))
        self.nonempty = domain if some and not condition._version else None
        self._other = (domain, not some)
        self.condition = (condition if condition.dtype == torch.bool else condition != 0).reshape(())
        self._before = {name: scope.get(name, _MISSING) for name in names}
        self._written: list[tuple[Tensor, Tensor]] = []
        self._held = [(each, each.copy()) for each in scope.values() if isinstance(each, (list, dict, set))]
        self._left: dict[int, Any] = {}
        self._first = first
        _open.append(self)

    def note(self, tensor: Tensor) -> None:
        """A tensor is going to be written to."""
        if all(known is not tensor for known, _ in self._written):
            self._written.append((tensor, tensor.clone()))

    def otherwise(self, names: Sequence[str], scope: Mapping[str, Any]) -> Choice:
        """The block after `else`."""
        condition = ~self.condition
        says(condition, *self._other)
        return Choice(condition, names, scope, self)

    def end(self, scope: Mapping[str, Any], last: bool) -> tuple[Any, ...]:
        """What the names stand for after the block; `last`: there is no `else`."""
        _open.pop()
        for tensor, before in reversed(self._written):
            tensor.copy_(torch.where(self.condition, tensor, before))
        for held, content in self._held:
            self._leave(held, content, last)
        return tuple(self._chosen(name, scope.get(name, _MISSING)) for name in self._before)

    def _leave(self, held: Any, before: Any, last: bool) -> None:
        """What a list or the like holds after the block; before the other one, it is what it was before this one."""
        other = self._first._left.get(id(held), before) if self._first else before
        if not last:
            self._left[id(held)] = held.copy()
            found = before
        elif _same(held, other):
            return
        else:
            found = self.of(held.copy(), other)
        if isinstance(found, Undecided) or isinstance(held, set):
            raise depends()
        held.clear()
        (held.extend if isinstance(held, list) else held.update)(found)

    def _chosen(self, name: str, new: Any) -> Any:
        old = self._before[name]
        found = new if old is _MISSING else self.of(new, old)
        if isinstance(found, Undecided) and name.startswith("__"):  # the result
            raise depends()
        return found

    def of(self, new: Any, old: Any) -> Any:
        """`new` where the condition holds, else `old`."""
        if new is old or (type(new) is type(old) and isinstance(new, (bool, int, float, str)) and new == old):
            return new
        if isinstance(new, (tuple, list)) and type(new) is type(old) and len(new) == len(old):
            return type(new)([self.of(one, other) for one, other in zip(new, old, strict=True)])
        if isinstance(new, dict) and isinstance(old, dict) and list(new) == list(old):
            return {key: self.of(new[key], old[key]) for key in new}
        if isinstance(new, Rows) and isinstance(old, Rows):
            return self._of_rows(new, old)
        new, old = _as_tensor(new), _as_tensor(old)
        alike = isinstance(new, Tensor) and isinstance(old, Tensor) and new.shape == old.shape
        return torch.where(self.condition, new, old) if alike and new.dtype == old.dtype else Undecided()

    def _of_rows(self, new: Rows, old: Rows) -> Any:
        if (
            new.domain.grid != old.domain.grid
            or new.rows.shape[1:] != old.rows.shape[1:]
            or new.rows.dtype != old.rows.dtype
        ):
            return Undecided()
        domain = new.domain
        if domain is not old.domain:
            domain = Domain(torch.where(self.condition, domain.mask, old.domain.mask))
        if new.places is not None and new.places == old.places:
            return type(new)(new.rows, domain, new.spans, new.places)
        return type(new)(torch.where(self.condition, new.spread(), old.spread()), domain)


def _as_tensor(value: Any) -> Any:
    """A number as a tensor in the dtype of Python's numbers; others as they are."""
    if not isinstance(value, (int, float)):
        return value
    return torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)


def _same(one: Any, other: Any) -> bool:
    """Whether two of a kind hold the very same things."""
    if isinstance(one, dict):
        return list(one) == list(other) and _same([*one.values()], [*other.values()])
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def restart() -> None:
    """Forget the blocks of a run that has ended by an error."""
    _open.clear()
    _loops.clear()


def depth() -> int:
    """How many blocks are open that may not count."""
    return len(_open)


def enter(loop: Any) -> None:
    """A turn of a loop is going to be traced; `loop.require_own` hears what it writes to."""
    _loops.append(loop)


def leave(loop: Any) -> None:
    """The turn has ended."""
    _loops.remove(loop)


class Grown:
    """A list that turns of a loop append to, where `count` elements are in it by now.

    What is appended is in it where all blocks count that are open, but for the first so many as `depth` says.
    """

    def __init__(self, count: Tensor, depth: int) -> None:
        self.count, self._depth = count, depth
        self._elements: list[tuple[Tensor, Tensor]] = []

    def append(self, element: Any) -> None:
        """As of a list."""
        element = _as_tensor(element)
        if not isinstance(element, Tensor):
            raise depends()
        kept = torch.ones((), dtype=torch.bool)
        for choice in _open[self._depth :]:
            kept = kept & choice.condition
        self._elements.append((element.clone(), kept))
        self.count = self.count + kept.long()

    def appended(self) -> tuple[Tensor, ...]:
        """What a turn appends [n, …], and which of it [n]; nothing where it appends nothing."""
        if not self._elements:
            return ()
        elements, kept = zip(*self._elements, strict=True)
        if len({(each.shape, each.dtype) for each in elements}) > 1:
            raise depends()
        return torch.stack(elements), torch.stack(kept)

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise depends()

    __iter__ = __len__ = __getitem__ = __bool__ = __contains__ = __getattr__ = _refuse


def among(domain: Domain) -> Tensor:
    """The mask of a domain for who writes where it says, in blocks that may not count."""
    mask = domain.mask
    for choice in _open:
        if choice.nonempty is not domain:
            mask = mask & choice.condition
    return mask


def note(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """A call in a block that may not count: what it writes to is written to by that block."""
    if not _open:
        return
    plain = name.strip("_")
    drawn = plain in RANDOM and not (
        plain.endswith("dropout") and not kwargs.get("training", (*args, 0, True, True)[2])
    )
    if drawn:
        raise depends()
    written: list[Any] = [kwargs.get("out")]
    if name == "__setitem__" or is_in_place(name):
        written.append(args[0])
    if name == "batch_norm":
        written += args[1:3]
    for tensor in (each for each in written if isinstance(each, Tensor)):
        for loop in _loops:
            loop.require_own(tensor)
        for choice in _open:
            choice.note(tensor)


# --- what rewritten files call ---------------------------------------------------------------------------


def when(test: Any, names: Sequence[str], scope: Mapping[str, Any]) -> bool | Choice:
    """Whether to run a block: as Python says, or a choice, which the block is run for."""
    test = length(test) if isinstance(test, (Rows, Grown)) else test  # a list of numbers that may be empty
    if not isinstance(test, Tensor):
        return bool(test)
    try:
        return bool(test)
    except (DataDependentOutputException, GuardOnDataDependentSymNode):
        return Choice(test, names, scope)


def otherwise(choice: bool | Choice, names: Sequence[str], scope: Mapping[str, Any]) -> bool | Choice:
    """The same for the block after `else`."""
    return not choice if isinstance(choice, bool) else choice.otherwise(names, scope)


def one_of(test: Any, one: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """`one if test else other`."""
    choice = when(test, (), {})
    if isinstance(choice, bool):
        return one() if choice else other()
    new = one()
    choice.end({}, True)
    second = choice.otherwise((), {})
    old = other()
    second.end({}, True)
    found = choice.of(new, old)
    if isinstance(found, Undecided):
        raise depends()
    return found


def negated(test: Any) -> Any:
    """`not test`."""
    if not isinstance(test, Tensor):
        return not test
    found = ~test if test.dtype == torch.bool else test == 0
    domain, some = getattr(test, "says", (counted(test), True))
    says(found, domain, not some)
    return found


def negation(value: Any) -> Any:
    """`not value`, where that is no test: Python's own where it is known."""
    if isinstance(value, Tensor):
        with suppress(DataDependentOutputException, GuardOnDataDependentSymNode):
            return not value
    return negated(value)


def both(test: Any, other: Callable[[], Any]) -> Any:
    """`test and other`."""
    if not isinstance(test, Tensor):
        return test and other()
    return _joined(torch.logical_and, test, other())


def either(test: Any, other: Callable[[], Any]) -> Any:
    """`test or other`."""
    if not isinstance(test, Tensor):
        return test or other()
    return _joined(torch.logical_or, test, other())


def _joined(function: Callable[..., Tensor], test: Tensor, other: Any) -> Tensor:
    if not isinstance(other, (Tensor, bool)):
        raise depends()
    return function(test, other if isinstance(other, Tensor) else torch.tensor(other))


def turns(over: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """What a loop is over, and whether each turn counts: all rows that a mask may pick, one after the other."""
    if not isinstance(over, Rows):
        for each in over:
            yield each, True
        return
    kept, rows = over.domain.kept, over.turns(_MOST_TURNS)
    for number, row in enumerate(rows):
        yield row, kept[number]


def length(x: Any) -> Any:
    """`len(x)`."""
    if isinstance(x, Grown):
        return x.count
    return x.shape[0] if isinstance(x, (Rows, Ragged)) else len(x)


def largest(*args: Any, **kwargs: Any) -> Any:
    """`max(...)`."""
    return _extreme(max, torch.maximum, args, kwargs)


def smallest(*args: Any, **kwargs: Any) -> Any:
    """`min(...)`."""
    return _extreme(min, torch.minimum, args, kwargs)


def _extreme(plain: Callable[..., Any], of: Callable[..., Tensor], args: Sequence[Any], kwargs: Any) -> Any:
    numbers = [each for each in args if isinstance(each, Tensor) and each.dim() == 0]
    if len(args) != 2 or kwargs or not numbers:
        return plain(*args, **kwargs)
    return of(*(each if isinstance(each, Tensor) else torch.full_like(numbers[0], each) for each in args))
