"""Places that a mask picks: what is read there, and what is written or added there. Worker side only."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from akg_core.task.data_dependent.by_row import refused
from akg_core.task.data_dependent.dense import dense, flattened
from akg_core.task.data_dependent.domain import Domain, Rows, depends, parts_of, union
from akg_core.task.data_dependent.picked import Picked
from akg_core.task.data_dependent.ragged import Ragged, lifted
from akg_core.task.tracing import choices
from akg_core.task.tracing.turns import added, last_written

_IDENTITY = {"sum": 0, "prod": 1, "add": 0, "multiply": 1}


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


def read(base: Tensor, index: Any) -> Any:
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


def put(base: Tensor, index: Any, new: Any, adds: bool = False) -> Any:
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


def put_first(base: Tensor, domain: Domain, new: Picked) -> None:
    """Write rows, as many as a mask keeps, to the front of a tensor that has room for them."""
    rows, room = dense(new).spread(), base.shape[0]
    place = torch.arange(room, device=base.device)
    rows = rows[place.clamp(max=rows.shape[0] - 1)].to(base.dtype)
    kept = (place < domain.count).reshape(-1, *(1,) * (base.dim() - 1))
    base.copy_(torch.where(kept, rows, base))


def put_rows(x: Picked, index: Any, new: Any) -> None:
    """Write to some of the rows that a mask picks, at places or where another mask says."""
    rows = dense(x)
    if isinstance(index, Picked) and index.dtype == torch.bool and index.domain.root is x.domain.root:
        kept = choices.among(rows.domain) & dense(index).spread()
        index = Picked(torch.arange(rows.rows.shape[0]), Domain(kept), None, 0)
    written = rows.spread().clone()
    if isinstance(index, Picked):
        put(written, index, new)
    else:
        written[torch.where(index < 0, index + x.domain.count, index) if isinstance(index, Tensor) else index] = new
    x.becomes(written, rows.domain)


Picked.__setitem__ = put_rows


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
    put(base, (*(slice(None),) * (dim % base.dim()), index), new, adds)
    return base


def _index_put(base: Tensor, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Tensor:
    put(base, tuple(indices), values, accumulate)
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
        return read(table, index)
    spans = index.spans
    return index.made(table[index.valid(spans)])


def _selected(base: Tensor, dim: int, index: Any) -> Any:
    if not isinstance(index, Picked) or not isinstance(base, Tensor) or dim % base.dim():
        raise depends()
    return read(base, index)


def _number_of_each(index: Any, weights: Any = None, minlength: int = 0) -> Tensor:
    if not isinstance(index, Rows):
        raise depends()
    kept = index.domain.kept.double()
    by = kept if weights is None else torch.where(index.domain.kept, weights.spread(), 0)
    found = torch.bincount(index.valid(index.domain.full), by, minlength)
    return found.long() if weights is None else found


WRITES: dict[str, Callable[..., Any]] = {
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
