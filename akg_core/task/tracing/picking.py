"""Calls that pick rows by the values of a mask while forward is traced, or write where it says: `x[mask]`,
`mask.nonzero()`, `torch.where(mask)`, `x[idx]`, `x[idx] = rows`, `index_add_`, and the like.

Places that `nonzero` gives are all places beside the mask. Rows at places that are numbers of a dim of the mask are a
view, and what is added there is a sum over the mask's other dims. Worker side only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from akg_core.task.data_dependent import ragged_products  # noqa: F401  # fills the table of functions
from akg_core.task.data_dependent.by_row import SAME_PLACES
from akg_core.task.data_dependent.dense import DIFFERENT, JOINING, joined, of_rows
from akg_core.task.data_dependent.domain import Domain, Places, counted, counting, depends, parts_of
from akg_core.task.data_dependent.picked import Picked, columns
from akg_core.task.data_dependent.ragged import Ragged
from akg_core.task.tracing import choices  # fills the table of functions
from akg_core.task.tracing.read_numbers import is_number, places
from akg_core.task.tracing.targets import WRITES, put, put_first, read

_SIZED = frozenset(("zeros", "ones", "empty", "full", "new_zeros", "new_ones", "new_empty", "new_full"))


class Picking:
    """What one run of forward has picked: the domains of its masks, and which masks are the same."""

    def __init__(self) -> None:
        self._domains: list[tuple[Tensor, int, Domain]] = []
        self._joined: dict[Any, Any] = {}
        self._made: dict[Any, tuple[Any, Tensor, int]] = {}
        self._ranges: dict[Any, Domain] = {}

    def called(self, func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any] | None:
        """What picking rows gives, or writing there; None for any other call."""
        name = getattr(func, "__name__", "")
        if name == "where" and len(args) == 1 and not kwargs:
            return self._places(args[0], True)
        if name in ("nonzero", "nonzero_numpy", "argwhere") and args:
            return self._places(args[0], name == "nonzero_numpy" or kwargs.get("as_tuple", False))
        if name == "masked_select" and not kwargs and _is_mask(args[1]) and isinstance(args[0], Tensor):
            base, mask = args if args[0].shape == args[1].shape else torch.broadcast_tensors(*args)
            return (Picked(base.reshape(-1).clone(), self._domain(mask)),)
        if name in DIFFERENT and args and isinstance(args[0], Tensor):
            return (DIFFERENT[name](*args, **kwargs, kind=Picked),)
        if name in JOINING and of_rows(*args, **kwargs):
            return (joined(args[0], self._joined),)
        if name in ("__getitem__", "__setitem__") and isinstance(args[0], Tensor):
            args = (args[0], self._counted_ranges(*args[:2]), *args[2:])
            index = self._unmasked(args[0], args[1], name == "__getitem__" or isinstance(args[2], (Picked, Ragged)))
            if name == "__setitem__" and (front := _front(index, args[2])):
                put_first(args[0], front, args[2])
                return (None,)
            if any(isinstance(part, Picked) for part in parts_of(index)):
                return (read(args[0], index) if len(args) == 2 else put(args[0], index, args[2]),)
            return None
        if name in _SIZED and any(map(counted, _flat(args))):
            return (_of_size(func, args, kwargs),)
        if name == "eye" and any(map(counted, args)):
            return (_identity(*args, **kwargs),)
        if name == "arange" and len(args) == 1 and (known := counted(args[0])):
            return (Picked(known.rank, known),)
        if name == "arange" and len(args) == 2 and (known := counted(args[1])):
            return (_from(args[0], known),)
        if name == "expand" and isinstance(args[0], Tensor) and any(map(counted, _flat(args[1:]))):
            return (_of_size(func, args, kwargs),)
        if name in ("tensor", "as_tensor", "asarray") and isinstance(args[0], Picked):
            return (args[0].to(kwargs["dtype"]) if kwargs.get("dtype") else args[0].clone(),)
        write = WRITES.get(name.removesuffix("_"))
        if write and args and any(isinstance(each, Picked) for each in _flat((*args, *kwargs.values()))):
            base = args[0] if name.endswith("_") or not isinstance(args[0], Tensor) else args[0].clone()
            return (write(base, *args[1:], **kwargs),)
        return None

    def known(self, func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> Any:
        """A result, which knows of which tensor made before it is another, or whose elements it counts."""
        name = getattr(func, "__name__", "").strip("_")
        if not isinstance(result, Tensor) or kwargs:
            return result
        if name in ("sum", "any", "count_nonzero") and len(args) == 1 and result.dim() == 0 and _is_mask(args[0]):
            return counting(result, self._domain(args[0]))
        if name in ("gt", "ne", "eq") and result.dim() == 0 and counted(args[0]) and _is_zero(args[1]):
            choices.says(result, counted(args[0]), name != "eq")
        if name in SAME_PLACES and args and isinstance(args[0], Tensor) and args[0].dtype == result.dtype:
            first = _first(args[0])
            result.same_as = (first, first._version, result._version)  # type: ignore[attr-defined]
        elif name not in choices.RANDOM and result.dim() and (key := _described(args)) is not None:
            made = (name if hasattr(Tensor, name) else func, key)  # many have a name like `__get__`
            _, first, version = self._made.setdefault(made, (args, result, result._version))
            if first is not result and first._version == version:
                result.same_as = (first, version, result._version)  # type: ignore[attr-defined]
        return result

    def _counted_ranges(self, base: Tensor, index: Any) -> Any:
        """An index of which ranges that values end are places: `x[i + 1 :]`, `x[:n]`."""
        first, *others = parts_of(index)
        if not isinstance(first, slice) or first.step not in (None, 1):
            return index
        ends = [end for end in (first.start, first.stop) if end is not None]
        if not any(map(is_number, ends)) or not all(is_number(end) or isinstance(end, int) for end in ends):
            return index
        if any(isinstance(end, int) and end < 0 for end in ends) or places(first.start, first.stop) is not None:
            return index
        key = base.shape[0], *(end.number if is_number(end) else end for end in (first.start, first.stop))
        if key not in self._ranges:
            every = torch.arange(base.shape[0], device=base.device)
            start, stop = (_from_front(end, base.shape[0]) for end in (first.start, first.stop))
            kept = every >= (0 if start is None else start)
            self._ranges[key] = Domain(kept if stop is None else kept & (every < stop))
        domain = self._ranges[key]
        return (Picked(torch.arange(base.shape[0], device=base.device), domain, None, 0), *others)

    def _unmasked(self, base: Tensor, index: Any, wanted: bool) -> Any:
        """An index with the places of masks in place of these, where there are such places beside them or `wanted`."""
        parts = parts_of(index)
        masks = [part for part in parts if _is_mask(part)]
        others = [part for part in parts if not _is_mask(part)]
        picks = any(isinstance(part, Picked) for part in parts)
        known = all(part is None or part is Ellipsis or isinstance(part, (int, slice, Picked)) for part in others)
        if not masks or not (picks or (wanted and known and len(masks) == 1)):
            return index
        used = sum(part is not None and part is not Ellipsis for part in others) + sum(mask.dim() for mask in masks)
        dim = 0
        for part in parts:
            if _is_mask(part):
                if part.shape != base.shape[dim : dim + part.dim()]:
                    return index
                dim += part.dim()
            else:
                dim += base.dim() - used if part is Ellipsis else part is not None
        return tuple(_flat([columns(self._domain(part)) if _is_mask(part) else part for part in parts]))

    def _domain(self, mask: Tensor) -> Domain:
        mask = _first(mask)
        for known, version, domain in self._domains:
            if known is mask and version == mask._version:
                return domain
        domain = Domain(mask.clone() if mask.dtype == torch.bool else mask != 0)
        self._domains.append((mask, mask._version, domain))
        return domain

    def _places(self, mask: Any, each: bool) -> tuple[Any] | None:
        if not isinstance(mask, Tensor) or not mask.dim():
            return None
        domain = self._domain(mask)
        numbers, dims = columns(domain), (*range(len(domain.grid)),)
        rows = torch.stack([number.spread() for number in numbers], -1)
        return (numbers if each else Picked(rows, domain, None, dims),)


# --- what an index says ----------------------------------------------------------------------------------


def plain(index: Any) -> Any:
    """An index with numbers in place of rows of `nonzero` that are known."""
    if isinstance(index, Places):
        if len(index) > 1:
            raise depends()
        return slice(int(index[0]), int(index[0]) + 1)
    if isinstance(index, tuple) and any(isinstance(part, Places) for part in index):
        return tuple(plain(part) if isinstance(part, Places) else part for part in index)
    return index


def _flat(values: Any) -> list[Any]:
    return [part for value in values for part in (value if isinstance(value, (tuple, list)) else (value,))]


def _is_mask(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype == torch.bool and value.dim() > 0


def _is_zero(value: Any) -> bool:
    return isinstance(value, int) and value == 0


def _first(mask: Tensor) -> Tensor:
    """The mask that was made first of those that are the same."""
    first, *versions = getattr(mask, "same_as", (mask,))
    return first if versions == [first._version, mask._version] else mask


def _described(args: Any) -> Any:
    """Arguments as something that is equal for equal ones; None where that cannot be said."""
    if isinstance(args, Tensor):
        return (id(_first(args)), args._version)
    if isinstance(args, (tuple, list)):
        found = tuple(_described(each) for each in args)
        return None if None in found else found
    if isinstance(args, slice):
        return _described((args.start, args.stop, args.step))
    plain = args is None or isinstance(args, (bool, int, float, torch.dtype, type(Ellipsis)))
    return (type(args), str(args)) if plain else None


def _from_front(end: Any, size: Any) -> Any:
    """An end of a range, which may be counted from the end of what it is a range of."""
    return torch.where(end < 0, end + size, end) if is_number(end) else end


def _from(start: Any, known: Domain) -> Picked:
    """The numbers from one on to how many rows there are."""
    every = torch.arange(known.kept.shape[0], device=known.mask.device)
    kept = (every >= start) & (every < known.count)
    return Picked(every, Domain(kept), None, 0)


def _front(index: Any, new: Any) -> Domain | None:
    """Whose elements are as many as rows that are written to the front of a tensor."""
    if not isinstance(index, slice) or index.start not in (None, 0) or index.step not in (None, 1):
        return None
    known = counted(index.stop)
    return known if known and isinstance(new, Picked) and new.domain.root is known.root else None


def _of_size(func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A new tensor of which some sizes say how many rows there are."""
    made = func(*_without_count(args), **kwargs)
    sizes = [each for each in _flat(args) if counted(each) or not isinstance(each, Tensor)]
    sizes = sizes[: made.dim()]
    domains = tuple(counted(size) for size in sizes)
    first = domains[0]
    if first and not any(domains[1:]):
        return Picked(made, first, (False,) * len(first.grid))
    rooms = [domain.kept.shape[0] if domain else -1 for domain in domains]
    return Ragged(made.expand(rooms), domains)


def _identity(n: Any, m: Any = None, **options: Any) -> Any:
    domain = counted(n)
    if domain is None or (m is not None and counted(m) is not domain):
        raise depends()
    return Ragged(torch.eye(domain.kept.shape[0], **options), (domain, domain))


def _without_count(args: Sequence[Any]) -> list[Any]:
    """Sizes with 1 for how many there are: all rows are alike."""
    return [
        type(each)(_without_count(each)) if isinstance(each, (tuple, list)) else 1 if counted(each) else each
        for each in args
    ]
