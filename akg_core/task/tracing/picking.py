"""Calls that pick rows by the values of a mask while forward is traced, or write where it says: `x[mask]`,
`mask.nonzero()`, `torch.where(mask)`, `x[idx]`, `x[idx] = rows`, `index_add_`, and the like.

Places that `nonzero` gives are all places beside the mask. Rows at places that are numbers of a dim of the mask are a
view, and what is added there is a sum over the mask's other dims. Worker side only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from akg_core.task.data_dependent import ragged_products  # noqa: F401  # fills the table of functions
from akg_core.task.data_dependent.by_row import SAME_PLACES, refused
from akg_core.task.data_dependent.dense import DIFFERENT, JOINING, dense, flattened, joined, of_rows
from akg_core.task.data_dependent.domain import Domain, Places, Rows, counted, counting, depends, parts_of, union
from akg_core.task.data_dependent.picked import Picked, columns
from akg_core.task.data_dependent.ragged import Ragged, lifted
from akg_core.task.tracing import choices  # fills the table of functions
from akg_core.task.tracing.turns import added, last_written

_SIZED = frozenset(("zeros", "ones", "empty", "full", "new_zeros", "new_ones", "new_empty", "new_full"))
_IDENTITY = {"sum": 0, "prod": 1, "add": 0, "multiply": 1}


class Picking:
    """What one run of forward has picked: the domains of its masks, and which masks are the same."""

    def __init__(self) -> None:
        self._domains: list[tuple[Tensor, int, Domain]] = []
        self._joined: dict[Any, Any] = {}
        self._made: dict[Any, tuple[Any, Tensor, int]] = {}

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
            index = self._unmasked(args[0], args[1], name == "__getitem__" or isinstance(args[2], (Picked, Ragged)))
            if any(isinstance(part, Picked) for part in parts_of(index)):
                return (_at(args[0], index) if len(args) == 2 else _put(args[0], index, args[2]),)
            return None
        if name in _SIZED and any(map(counted, _flat(args))):
            return (_of_size(func, args, kwargs),)
        if name == "eye" and any(map(counted, args)):
            return (_identity(*args, **kwargs),)
        if name == "arange" and len(args) == 1 and (known := counted(args[0])):
            return (Picked(known.rank, known),)
        write = _WRITES.get(name.removesuffix("_"))
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


def _of_size(func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A new tensor of which some sizes say how many rows there are."""
    made = func(*_without_count(args), **kwargs)
    sizes = [each for each in _flat(args) if counted(each) or not isinstance(each, Tensor)]
    domains = tuple(counted(size) for size in sizes[: made.dim()])
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


@dataclass(frozen=True)
class _Target:
    """`view` [*dims, *others] of a tensor, whose first dims rows are picked of by `picks`, one for each.

    In what is picked, that of the rows comes after so many of the others as `before` says.
    """

    view: Tensor
    picks: list[Picked]
    before: int = 0

    @property
    def domain(self) -> Domain:
        union(self.picks)
        return self.picks[0].domain

    @property
    def others(self) -> torch.Size:
        return self.view.shape[len(self.picks) :]

    @property
    def direct(self) -> list[int]:
        """The dims of the mask that picks are the numbers of, which are all of the view's; empty where any is not."""
        places = [pick.places for pick in self.picks]
        dims = [place for place in places if isinstance(place, int)]
        fits = len({*dims}) == len(places) and all(
            self.domain.grid[dim] == size for dim, size in zip(dims, self.view.shape, strict=False)
        )
        return dims if fits else []

    def in_order(self) -> Tensor:
        """The view with its first dims as they are in the mask."""
        order = sorted(range(len(self.picks)), key=self.direct.__getitem__)
        return self.view.permute(*order, *range(len(order), self.view.dim()))


def _target(base: Tensor, index: Any) -> _Target:
    parts = list(parts_of(index))
    if not all(part is None or part is Ellipsis or isinstance(part, (int, slice, Picked)) for part in parts):
        raise depends()
    picks = [part for part in parts if isinstance(part, Picked)]
    if any(pick.ndim != 1 or pick.is_floating_point() or pick.dtype == torch.bool for pick in picks):
        raise depends()
    for at in [n for n, part in enumerate(parts) if part is Ellipsis]:
        used = sum(part is not None for part in parts) - 1
        parts[at : at + 1] = [slice(None)] * (base.dim() - used)
    view = base[tuple(slice(None) if isinstance(part, Picked) else part for part in parts)]
    kept = [part for part in parts if isinstance(part, Picked) or not isinstance(part, int)]
    dims = [dim for dim, part in enumerate(kept) if isinstance(part, Picked)]
    first = dims[0] if dims == list(range(dims[0], dims[0] + len(dims))) else 0
    view = view.movedim(dims, list(range(len(dims))))
    return _Target(view, picks, first)


# --- reading ---------------------------------------------------------------------------------------------


def _at(base: Tensor, index: Any) -> Any:
    """`base[index]` where places in it are picked."""
    target = _target(base, index)
    return lifted(_rows_of(target), target.before)


def _rows_of(target: _Target) -> Picked:
    domain = target.domain
    if direct := target.direct:
        spans = tuple(dim in direct for dim in range(len(domain.grid)))
        return Picked(target.in_order().reshape(-1, *target.others).clone(), domain, spans)
    spans = union(target.picks)
    return Picked(target.view[tuple(pick.valid(spans) for pick in target.picks)], domain, spans)


# --- writing ---------------------------------------------------------------------------------------------


def _put(base: Tensor, index: Any, new: Any, adds: bool = False) -> Any:
    """Write rows to where they are picked, or add them there; rows that the mask leaves out go nowhere."""
    target = _target(base, index)
    domain, view, rank = target.domain, target.view, len(target.others)
    kept = choices.among(domain)
    wide = kept.reshape(*domain.grid, *(1,) * rank)
    rows = _boxed(_first_dim(new, target.before, rank), domain, view, rank)
    direct = target.direct
    if direct and adds:
        others = [dim for dim in range(len(domain.grid)) if dim not in direct]
        rows = torch.where(wide, rows, 0)
        rows = rows.sum(others, dtype=view.dtype) if others else rows
        there = target.in_order()
        there.copy_(there + rows)
    elif len(direct) == len(domain.grid):
        there = target.in_order()
        there.copy_(torch.where(wide, rows, there))
    else:
        place: Any = 0
        for pick, size in zip(target.picks, view.shape, strict=False):
            at = pick.valid(domain.full)
            place = place * size + torch.where(at < 0, at + size, at)
        rows = rows.expand(*domain.grid, *target.others).reshape(-1, *target.others)
        flat = view.reshape(-1, *target.others)
        view.copy_((added if adds else last_written)(flat, place, rows, kept.reshape(-1)).reshape(view.shape))


def _first_dim(new: Any, before: int, rank: int) -> Any:
    """What is written with the dim of the rows first, which comes after so many of `rank` others."""
    if isinstance(new, Ragged):
        return new.front(before)[0] if [*map(bool, new.domains)].index(True) == before else refused()
    return new.movedim(before, 0) if isinstance(new, Tensor) and before and new.dim() == rank + 1 else new


def _boxed(new: Any, domain: Domain, view: Tensor, rank: int) -> Tensor:
    """Rows that are written, [*grid, *others] or of size 1 along some of these, in the dtype of what they go to."""
    if isinstance(new, Picked):
        if new.domain is not domain or new.ndim != rank + 1:
            raise depends()
        return new.boxed().to(view.dtype)
    rows = new if isinstance(new, Tensor) else torch.full((), new, dtype=view.dtype, device=view.device)
    if rows.dim() == rank + 1 and rows.shape[0] == 1:
        rows = rows[0]
    if rows.dim() > rank:
        raise depends()
    return rows.to(view.dtype)


def _index_add(base: Tensor, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Tensor:
    return _along(base, dim, index, source if isinstance(alpha, int) and alpha == 1 else source * alpha, True)


def _along(base: Tensor, dim: int, index: Any, new: Any, adds: bool = False) -> Tensor:
    """Rows along a dim, which is the first where they are more than one number."""
    if not isinstance(index, Picked) or (dim % base.dim() and isinstance(new, (Picked, Tensor))):
        raise depends()
    _put(base, (*(slice(None),) * (dim % base.dim()), index), new, adds)
    return base


def _index_put(base: Tensor, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Tensor:
    _put(base, tuple(indices), values, accumulate)
    return base


def _scatter(base: Tensor, dim: int, index: Any, src: Any, reduce: str = "", *, include_self: bool = True) -> Tensor:
    """Elements of rows joined with those at places of the first dim; what the mask leaves out changes nothing."""
    if not isinstance(index, Picked) or dim % base.dim() or not include_self:
        raise depends()
    if index.ndim == 1 and base.dim() == 1 and reduce in ("", "sum"):
        return _along(base, 0, index, src, bool(reduce))
    least, most = -math.inf, math.inf
    if not base.is_floating_point():
        least, most = torch.iinfo(base.dtype).min, torch.iinfo(base.dtype).max
    none = {**_IDENTITY, "amax": least, "amin": most}.get(reduce)
    if none is None or (isinstance(src, Tensor) and src.dim()) or index.ndim != base.dim():
        raise depends()
    rows = src.spread() if isinstance(src, Picked) else torch.full((), src, dtype=base.dtype)
    domain = index.domain
    if isinstance(src, Picked):
        union([index, src])
    kept = choices.among(domain).reshape(-1, *(1,) * (index.ndim - 1))
    at = index.valid(domain.full)
    rows = torch.where(kept, rows, none).to(base.dtype).expand(at.shape)
    joined = {"sum": "sum", "add": "sum", "multiply": "prod"}.get(reduce, reduce)
    return base.copy_(base.scatter_reduce(0, at, rows, joined))


def _looked_up(index: Any, table: Any, padding_idx: Any = None, max_norm: Any = None, *_: Any, **__: Any) -> Any:
    if not isinstance(table, Tensor) or isinstance(index, Tensor) or max_norm is not None:
        raise depends()
    if index.ndim == 1:
        return _at(table, index)
    spans = index.spans
    return index.made(table[index.valid(spans)])


def _selected(base: Tensor, dim: int, index: Any) -> Any:
    if not isinstance(index, Picked) or not isinstance(base, Tensor) or dim % base.dim():
        raise depends()
    return _at(base, index)


def _number_of_each(index: Any, weights: Any = None, minlength: int = 0) -> Tensor:
    if not isinstance(index, Rows):
        raise depends()
    kept = index.domain.kept.double()
    by = kept if weights is None else torch.where(index.domain.kept, weights.spread(), 0)
    found = torch.bincount(index.valid(index.domain.full), by, minlength)
    return found.long() if weights is None else found


_WRITES: dict[str, Callable[..., Any]] = {
    "index_add": _index_add,
    "index_copy": _along,
    "index_fill": _along,
    "index_put": _index_put,
    "scatter": _scatter,
    "scatter_add": lambda base, dim, index, src: _scatter(base, dim, index, src, reduce="sum"),
    "scatter_reduce": _scatter,
    "masked_scatter": lambda base, mask, new: base.copy_(base.masked_scatter(mask, dense(flattened(new)).rows)),
    "embedding": _looked_up,
    "index_select": _selected,
    "bincount": _number_of_each,
}
