"""`x.item()`, `x.tolist()` while forward is traced: numbers that stay tensors as long as nothing needs their values.

What is computed with them, and what they are the place of, as in `cache[:, pos] = new`, is the same with tensors of
one element. Ranges, sizes and branches need the values, and are refused. Worker side only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from akg_core.errors import TaskError


class Items:
    """Numbers read from tensors during one run of forward, and what was taken from places that they are.

    `traced`: what is called is recorded, not just run on tensors without data.
    """

    def __init__(self, traced: bool) -> None:
        self._traced = traced
        self._taken: list[tuple[Tensor, int]] = []

    def called(self, func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any] | None:
        """What reading numbers gives, or indexing by one or writing there; None for any other call."""
        name = getattr(func, "__name__", "")
        if name == "item" and _is_number(args[0]) and args[0].numel() == 1:
            return (_number(args[0].reshape(())),)
        if name == "tolist" and _is_number(args[0]):
            return (_listed(_number(args[0])),)
        if name == "__getitem__" and _place(args[0], args[1]):
            found = (_read if self._traced else _seen)(args[0], args[1])
            self._taken.append((found, found._version))
            return (found,)
        if name == "__setitem__" and _place(args[0], args[1]):
            self._taken = [each for each in self._taken if each[0] is not args[2]]  # as x[i] += 1 ends
            _write(*args)
            return (None,)
        return None

    def require_copies(self, outputs: Sequence[Any]) -> None:
        """Raise TaskError where a view of what was taken is written to, or given back with gaps in memory.

        Here it is none: the tensor that it would be a view of is not written to, and kernels leave no gaps.
        """
        given = {_storage(out) for out in outputs if isinstance(out, Tensor) and not out.is_contiguous()}
        for taken, version in self._taken:
            if taken._version != version or _storage(taken) in given:
                raise TaskError(
                    "forward writes to, or gives back, a view of a place that it reads from a tensor.",
                    "Write with x[i] = value, and give back a copy: x[i].clone().",
                )


def _storage(x: Tensor) -> int:
    return x.untyped_storage()._cdata


def _read(base: Tensor, index: Any) -> Any:
    while place := _place(base, index):
        dim, at, index = place
        there: Any = (*_before(dim), at.reshape(1))
        base = base[there]
    return base[index]


def _write(base: Tensor, index: Any, new: Any) -> None:
    place = _place(base, index)
    if place is None:
        base[index] = new
        return
    dim, at, rest = place
    there: Any = (*_before(dim), at.reshape(1))
    if sum(not (part is Ellipsis or (isinstance(part, slice) and part == slice(None))) for part in rest) == 1:
        after = base.dim() - dim - 1
        base[there] = new.unsqueeze(new.dim() - after) if isinstance(new, Tensor) and new.dim() > after else new
        return
    part = base[there].clone()
    _write(part, rest, new)
    base[there] = part


def _seen(base: Tensor, index: Any) -> Any:
    """A tensor without data for what is read, as the view of it lies in memory."""
    while place := _place(base, index):
        index = place[2]
    view = base[index]
    return view.new_empty_strided(view.shape, view.stride())


def _is_number(x: Any) -> bool:
    return isinstance(x, Tensor) and x.dtype != torch.bool and not x.is_complex()


def _number(x: Tensor) -> Tensor:
    """In the dtype of Python's numbers, which changes no other tensor's that is of floats, too."""
    return x.double() if x.is_floating_point() else x.long()


def _listed(x: Tensor) -> Any:
    return [_listed(each) for each in x.unbind()] if x.dim() else x


def _place(base: Any, index: Any) -> tuple[int, Tensor, tuple[Any, ...]] | None:
    """The first number that is a tensor in an index: its dim in `base`, it, and the index with 0 in its place."""
    parts = index if isinstance(index, tuple) else (index,)
    used = [_dims(part) for part in parts]
    dim = 0
    for n, part in enumerate(parts):
        if isinstance(part, Tensor) and part.dim() == 0 and _is_number(part) and not part.is_floating_point():
            return dim, part, (*parts[:n], 0, *parts[n + 1 :])
        dim += base.dim() - sum(used) if part is Ellipsis else used[n]
    return None


def _dims(part: Any) -> int:
    """How many dims a part of an index is about, beside `...`."""
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    return part.dim() if isinstance(part, Tensor) and part.dtype in (torch.bool, torch.uint8) else 1


def _before(dim: int) -> tuple[slice, ...]:
    return (slice(None),) * dim
