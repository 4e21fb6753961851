"""`x.item()`, `x.tolist()` while forward is traced: numbers that stay tensors as long as nothing needs their values.

What is computed with them, and what they are the place of, as in `cache[:, pos] = new`, is the same with tensors of
one element. Ranges, sizes and branches need the values, and are refused. Worker side only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from akg_core.errors import TaskError
from akg_core.task.data_dependent.domain import parts_of
from akg_core.task.layout import storage_of
from akg_core.task.tracing.read_numbers import computed, is_number, places, read

_SHAPES = ("__get__", "size", "dim", "ndimension", "stride", "numel", "__len__", "is_contiguous")
"""Names of calls that read no elements of a view."""


@dataclass(frozen=True, slots=True)
class _Taken:
    """A stand-in for a view of a place: what it was taken from, and how often each had been written to by then."""

    stand_in: Tensor
    base: Tensor
    version: int
    base_version: int


class Items:
    """Numbers read from tensors during one run of forward, and what was taken from places that they are.

    `traced`: what is called is recorded, not just run on tensors without data, where views are watched.
    """

    def __init__(self, traced: bool) -> None:
        self._traced = traced
        self._taken: list[_Taken] = []

    def called(self, func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any] | None:
        """What reading numbers gives, or indexing by one or writing there; None for any other call.

        Raises TaskError where a call reads a view that would have other values by now.
        """
        name = getattr(func, "__name__", "")
        if name == "_set_grad_enabled":  # nothing to record
            with torch._C.DisableTorchFunction():
                return (func(*args),)
        if self._taken and name not in _SHAPES:
            self._require_fresh([*args, *kwargs.values()])
        if name == "item" and _holds_number(args[0]) and args[0].numel() == 1:
            return (read(args[0]),)
        if name == "tolist" and _holds_number(args[0]):
            return (_listed(args[0]),)
        if name == "arange" and len(args) == 2 and (found := places(*args)) is not None:
            return (found.to(kwargs.get("dtype") or torch.int64),)
        if name in ("tensor", "as_tensor") and len(args) == 1 and is_number(args[0]):
            plain = torch.get_default_dtype() if args[0].is_floating_point() else torch.int64
            return (args[0].clone().to(kwargs.get("dtype") or plain),)
        if not kwargs and (number := computed(func, name, args)) is not None:
            return (number,)
        if name == "narrow" and is_number((narrowed := _narrow(*args, **kwargs))[2]):
            base, dim, start, length = narrowed
            there = (*_before(dim % base.dim()), slice(start, computed(torch.add, "add", (start, length))))
            name, args = "__getitem__", (base, there)
        if name in ("tensor", "new_tensor") and isinstance(args[-1], (list, tuple)) and _holds_numbers(args[-1]):
            numbers = torch.stack([torch.as_tensor(each) for each in args[-1]])
            dtype = kwargs.get("dtype") or (args[0].dtype if name == "new_tensor" else None)
            plain = torch.get_default_dtype() if numbers.is_floating_point() else numbers.dtype
            return (numbers.to(dtype or plain),)
        if name == "__getitem__" and _place(args[0], args[1]):
            transformed = any(map(_is_transformed, torch.utils._pytree.tree_leaves(list(args))))
            return (_read(*args) if self._traced or transformed else self._take(*args),)
        if name == "__setitem__" and _place(args[0], args[1]):
            self._taken = [each for each in self._taken if each.stand_in is not args[2]]  # as x[i] += 1 ends
            _write(*args)
            return (None,)
        return None

    def _take(self, base: Tensor, index: Any) -> Tensor:
        """A tensor without data for what is read, as the view of it lies in memory."""
        while place := _place(base, index):
            index = place[2]
        view = base[index]
        found = view.new_empty_strided(view.shape, view.stride())
        if storage_of(view) == storage_of(base):  # else eager copies, too
            self._taken.append(_Taken(found, base, found._version, base._version))
        return found

    def _require_fresh(self, values: Sequence[Any]) -> None:
        """Raise TaskError where one is a view of what has been written to since it was taken: here it is a copy."""
        stale: set[int] = set()
        for each in self._taken:
            if each.base._version != each.base_version or storage_of(each.base) in stale:
                stale.add(storage_of(each.stand_in))
        leaves = torch.utils._pytree.tree_leaves(list(values)) if stale else []
        if any(isinstance(leaf, Tensor) and storage_of(leaf) in stale for leaf in leaves):
            raise TaskError(
                "forward reads a view of a place, which a number from a tensor says, after the tensor that it is a view"
                " of was written to.",
                "Take the view again after writing, or a copy before: x[i].clone().",
            )

    def require_copies(self, outputs: Sequence[Any]) -> None:
        """Raise TaskError where a view of what was taken is written to, or given back with gaps in memory or written.

        Here it is none: the tensor that it would be a view of is not written to, and kernels leave no gaps.
        """
        self._require_fresh(outputs)
        given = {storage_of(out) for out in outputs if isinstance(out, Tensor) and not out.is_contiguous()}
        for each in self._taken:
            if each.stand_in._version != each.version or storage_of(each.stand_in) in given:
                raise TaskError(
                    "forward writes to, or gives back, a view of a place that it reads from a tensor.",
                    "Write with x[i] = value, and give back a copy: x[i].clone().",
                )


def _is_transformed(x: Any) -> bool:
    """Whether this is a tensor inside `torch.vmap` or the like, which has no memory of its own."""
    return isinstance(x, Tensor) and torch._C._functorch.is_functorch_wrapped_tensor(x)


def _read(base: Tensor, index: Any) -> Any:
    while place := _place(base, index):
        dim, at, index = place
        there: Any = (*_before(dim), at)
        base = base[there]
    return base[index]


def _write(base: Tensor, index: Any, new: Any) -> None:
    place = _place(base, index)
    if place is None:
        base[index] = new
        return
    dim, at, rest = place
    there: Any = (*_before(dim), at)
    about = [part for part in rest if not (part is Ellipsis or (isinstance(part, slice) and part == slice(None)))]
    if len(about) == 1:
        after = base.dim() - dim - 1
        lacks_dim = about == [0] and isinstance(new, Tensor) and new.dim() > after
        base[there] = new.unsqueeze(new.dim() - after) if lacks_dim else new
        return
    part = base[there].clone()
    _write(part, rest, new)
    base[there] = part


def _holds_number(x: Any) -> bool:
    return isinstance(x, Tensor) and x.dtype != torch.bool and not x.is_complex()


def _holds_numbers(values: Sequence[Any]) -> bool:
    """Whether a list is of numbers, and some of them are tensors."""
    numbers = [each for each in values if isinstance(each, Tensor)]
    plain = all(isinstance(each, (int, float)) or (isinstance(each, Tensor) and not each.dim()) for each in values)
    return bool(numbers) and plain


def _listed(x: Tensor) -> Any:
    return [_listed(each) for each in x.unbind()] if x.dim() else read(x)


def _place(base: Any, index: Any) -> tuple[int, Tensor, tuple[Any, ...]] | None:
    """The first part of an index that tensors say: its dim in `base`, its places [n], and the index of what is there.

    That has 0 for a number, and so many places for a range.
    """
    parts = parts_of(index)
    used = [_dims(part) for part in parts]
    dim = 0
    for n, part in enumerate(parts):
        if isinstance(part, Tensor) and part.dim() == 0 and _holds_number(part) and not part.is_floating_point():
            return dim, part.reshape(1), (*parts[:n], 0, *parts[n + 1 :])
        if isinstance(part, slice) and part.step in (None, 1) and (at := places(part.start, part.stop)) is not None:
            return dim, at, (*parts[:n], slice(0, len(at)), *parts[n + 1 :])
        dim += base.dim() - sum(used) if part is Ellipsis else used[n]
    return None


def _dims(part: Any) -> int:
    """How many dims a part of an index is about, beside `...`."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    return part.dim() if isinstance(part, Tensor) and part.dtype in (torch.bool, torch.uint8) else 1


def _narrow(input: Tensor, dim: int, start: Any, length: Any) -> tuple[Tensor, int, Any, Any]:
    """The arguments of `narrow`, by whatever names they came."""
    return input, dim, start, length


def _before(dim: int) -> tuple[slice, ...]:
    return (slice(None),) * dim
