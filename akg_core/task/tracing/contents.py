"""What tensors hold while forward is traced: arguments of which it is known, and what follows from these alone.

A grid of patches, lengths of sequences: forward has as many results and turns as they say. Beside each tensor that
follows from known ones, or from Python's numbers, a real one is computed; what Python asks of it is answered, and what
is as large as its values say is a constant. Worker side only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map

from akg_core.task.arguments import filled
from akg_core.task.data_dependent.domain import is_in_place, parts_of
from akg_core.task.layout import storage_of
from akg_core.task.tracing.choices import RANDOM

_MOST = 1 << 20  # elements of what is computed
_READS: dict[str, Callable[[Tensor], Any]] = {
    "item": Tensor.item, "tolist": Tensor.tolist, "__bool__": Tensor.__bool__, "__int__": Tensor.__int__,
    "__float__": Tensor.__float__, "__index__": Tensor.__index__,
}  # fmt: skip
_SIZED = frozenset((
    "nonzero", "nonzero_numpy", "argwhere", "unique", "unique_consecutive", "masked_select", "repeat_interleave",
    "bincount", "equal", "allclose",
))  # fmt: skip
"""Calls that give as much as values say, or what is Python's own; so do `where` of a mask and `x[mask]`."""
_BY_NUMBERS = frozenset((
    "view", "reshape", "expand", "repeat", "tile", "narrow", "select", "split", "split_with_sizes", "chunk",
    "unflatten", "unfold", "roll", "pad", "zeros", "ones", "empty", "full", "new_zeros", "new_ones", "new_empty",
    "new_full", "eye", "arange", "linspace", "logspace", "topk", "one_hot", "tril", "triu", "rand", "randn",
    "interpolate", "as_strided",
))  # fmt: skip
"""Calls that take sizes and places, which may be tensors that hold them."""

Call = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class _Content:
    """What a tensor holds, and the arguments that it follows from."""

    real: Tensor
    places: frozenset[int]


class Contents:
    """What is known during one run of forward. `held`: what arguments hold, by their places; `read`: those of which
    Python asked."""

    def __init__(self, held: Mapping[int, Any]) -> None:
        self._held = held
        self._lost: list[Tensor] = []
        self.read: set[int] = set()

    def take(self, values: Sequence[Any]) -> None:
        """The arguments of forward's call."""
        for place, content in self._held.items():
            value = values[place]
            with _real():
                real = filled(value, content)
            _note(value, _Content(real, frozenset((place,))))

    def call(self, others: Call, func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """What a call gives; one of tensors of which nothing is known goes to `others`, as it is or by what is."""
        name = getattr(func, "__name__", "")
        if name in ("__getitem__", "__setitem__"):
            args = (args[0], tuple(place for part in parts_of(args[1]) for place in self._places(part)), *args[2:])
        elif name in _BY_NUMBERS:
            of = [value for value in args[:1] if isinstance(value, Tensor) and value.dim()]
            args, kwargs = tree_map(self._number, (args[len(of) :], kwargs))
            args = (*of, *args)
        elif name == "repeat_interleave" and len(args) > 1 and (content := self._of(args[1])):
            kwargs = {"output_size": self._read(content, lambda x: int(x.sum())), **kwargs}
        given = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        known = [content for leaf in given if (content := self._of(leaf))]
        if len(known) == len(given) and name not in RANDOM and not _has_symbols((args, kwargs)):
            return self._of_known(func, name, args, kwargs, known)
        if is_in_place(name) or name == "__setitem__":
            self._lose(args[0])
        return others(func, args, kwargs)

    def _of_known(
        self, func: Callable[..., Any], name: str, args: Sequence[Any], kwargs: dict[str, Any], known: list[_Content]
    ) -> Any:
        """What a call of known tensors gives, or one of none."""
        if name in _READS and len(args) == 1 and known:
            return self._read(known[0], _READS[name])
        places = frozenset[int]().union(*(content.places for content in known))
        if known and _is_sized(name, args):
            self.read |= places
            real = self._computed(func, args, kwargs)
            result = tree_map(_constant, real)
        else:
            result = func(*args, **kwargs)
            made = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]
            if name != "__setitem__" and not (made and sum(leaf.numel() for leaf in made) <= _MOST):
                return result
            real = self._computed(func, args, kwargs)
        for leaf, content in zip(tree_leaves(result), tree_leaves(real), strict=False):
            if isinstance(leaf, Tensor) and isinstance(content, Tensor):
                _note(leaf, _Content(content, places))
        return result

    def _read(self, content: _Content, ask: Callable[[Tensor], Any]) -> Any:
        self.read |= content.places
        with _real():
            return ask(content.real)

    def _of(self, value: Any) -> _Content | None:
        """What is known of a tensor; nothing any more where something else was written to its memory."""
        content = getattr(value, "content", None) if isinstance(value, Tensor) else None
        if content is None or any(storage_of(content.real) == storage_of(lost) for lost in self._lost):
            return None
        return content

    def _lose(self, value: Any) -> None:
        if content := self._of(value):
            self._lost.append(content.real)

    def _computed(self, func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The same call of the real tensors."""
        args, kwargs = tree_map(lambda leaf: c.real if (c := self._of(leaf)) else leaf, (args, kwargs))
        with _real():
            return func(*args, **kwargs)

    def _number(self, value: Any) -> Any:
        """The whole number that a tensor without dims holds; any other value as it is."""
        content = self._of(value)
        if content is None or value.dim() or value.dtype == torch.bool or value.is_floating_point():
            return value
        return self._read(content, Tensor.item)

    def _places(self, part: Any) -> tuple[Any, ...]:
        """A part of an index: its ends are numbers, and a mask is the places where it holds."""
        if isinstance(part, slice):
            return (slice(*map(self._number, (part.start, part.stop, part.step))),)
        content = self._of(part)
        if content is None or content.real.dtype != torch.bool:
            return (part,)
        return tuple(map(_constant, self._read(content, lambda x: x.nonzero(as_tuple=True))))


def _has_symbols(given: Any) -> bool:
    """Whether a size that varies is among the arguments of a call, of which no number is known."""
    if isinstance(given, (list, tuple)):
        return any(map(_has_symbols, given))
    if isinstance(given, dict):
        return _has_symbols([*given.values()])
    if isinstance(given, slice):
        return _has_symbols((given.start, given.stop, given.step))
    return isinstance(given, (torch.SymInt, torch.SymFloat, torch.SymBool))


def _note(tensor: Tensor, content: _Content) -> None:
    tensor.content = content  # type: ignore[attr-defined]


def _is_sized(name: str, args: Sequence[Any]) -> bool:
    if name == "where":
        return len(args) == 1
    if name == "__getitem__":
        return any(isinstance(part, Tensor) and part.dtype == torch.bool for part in parts_of(args[1]))
    return name in _SIZED


def _constant(value: Any) -> Any:
    """A real tensor as one of the trace; any other value as it is."""
    return torch.tensor(value.tolist(), dtype=value.dtype) if isinstance(value, Tensor) else value


@contextmanager
def _real() -> Iterator[None]:
    """Inside, tensors are PyTorch's own, and nothing is traced."""
    with torch._C.DisableTorchFunction(), _disable_current_modes(), torch.no_grad():
        yield
