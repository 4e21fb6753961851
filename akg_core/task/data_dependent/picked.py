"""Rows that a mask picks, as `x[mask]` and `x[mask.nonzero()]` are, while forward is traced: all rows with the mask
beside them, as long as what is made of them does not depend on how many the mask picks.

Elementwise work, and work along the other dims, is done for every row; what is summed or compared over the rows leaves
out the others; what is written somewhere goes where the mask says. Everything else is as data-dependent as it is in
PyTorch, and refused. Worker side only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from akg_core.task.data_dependent.by_row import (
    CLASSES,
    DIM_OF,
    ELEMENTWISE,
    IGNORED,
    LOSSES,
    ROW_BY_ROW,
    SAME_PLACES,
    SHAPED,
    SIZED,
    dim_of,
    refused,
    with_operators,
)
from akg_core.task.data_dependent.dense import DIFFERENT, IN_ORDER, dense, length, row, taken
from akg_core.task.data_dependent.domain import Rows, Spans, depends, is_in_place, out_of_place, union
from akg_core.task.data_dependent.over_rows import ALONG, OVER, PAIRS, batch_norm, pair
from akg_core.task.data_dependent.ragged import Ragged, beyond, called, of, stacked
from akg_core.task.data_dependent.resized import shaped, sized, view


@with_operators
class Picked(Rows):
    """The rows of a tensor [n, *rest] that a mask of n elements keeps, without saying how many there are."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        return _called(func, args, kwargs or {})

    def __getattr__(self, name: str) -> Any:
        if name in ("dtype", "device", "ndim", "dim", "is_floating_point"):
            return getattr(self.rows, name)
        function = getattr(Tensor, name, None)
        if not callable(function):
            raise depends()
        return lambda *args, **kwargs: _called(function, (self, *args), kwargs)

    @property
    def shape(self) -> tuple[Any, ...]:
        return (self.domain.count, *self.rows.shape[1:])

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> Any:
        rest = math.prod(self.rows.shape[1:])
        return self.domain.count if rest == 1 else self.domain.count * rest

    def tolist(self) -> Picked:
        found = Picked(self.rows, *self._where(), self.places)
        found.is_python = True
        return found

    numpy = tolist

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, Picked) and at.dtype == torch.bool and at.ndim == 1 and at.domain is self.domain:
            return self._among(at, at.spread)
        if isinstance(at, slice):
            by = (at.start, at.stop, at.step)
            return self._among(by, lambda: self._between(at.start, at.stop, at.step or 1), length(*by))
        if isinstance(at, Picked) and at.domain.root is self.domain.root and at.dtype == torch.bool and at.ndim == 1:
            return dense(self)[dense(at)]
        if isinstance(at, int):
            return row(self, at)
        if isinstance(at, (Tensor, Picked)) and not at.is_floating_point() and at.dtype != torch.bool:
            return taken(self, at)
        if isinstance(at, tuple) and len(at) > 1 and _is_of_rows(at[0]):
            part, rest = self[at[0]], at[1:]
            return part.__getitem__((slice(None), *rest)) if isinstance(part, Picked) else part[rest]
        if at is None or (isinstance(at, tuple) and at and at[0] is None):
            return of(self)[at]
        if not (isinstance(at, tuple) and at and (at[0] is Ellipsis or at[0] == slice(None))):
            raise depends()
        if not all(part is None or part is Ellipsis or isinstance(part, (int, slice)) or _is_list(part) for part in at):
            raise depends()
        if at[0] is Ellipsis:
            missing = self.ndim - sum(part is not None for part in at) + 1
            at = (*(slice(None),) * missing, *at[1:])
            if missing < 1:
                raise depends()
        if isinstance(self.places, tuple) and len(at) == 2 and isinstance(at[1], int):
            return column(self.domain, self.places[at[1]])
        return view(self, Picked(self.rows[at], self.domain, self.spans))

    def _among(self, by: Any, keep: Callable[[], Tensor], of: tuple[str, int] | None = None) -> Picked:
        narrowed = self.domain.narrowed(by, keep, of)
        return Picked(self.rows, narrowed, self.spans, self.places)

    def _between(self, start: Any, stop: Any, step: int) -> Tensor:
        rank = self.domain.rank
        ends = [self.domain.count + end if isinstance(end, int) and end < 0 else end for end in (start, stop)]
        first = 0 if start is None else ends[0]
        kept = rank >= first
        kept = kept if step == 1 else kept & ((rank - first) % step == 0)
        return kept if stop is None else kept & (rank < ends[1])

    @property
    def T(self) -> Any:
        columns = tuple(self[:, k] for k in range(self.rows.shape[1])) if isinstance(self.places, tuple) else None
        return Ragged(self.spread().T, (None, self.domain), columns) if self.ndim == 2 else of(self).T

    def t(self) -> Any:
        return self.T

    def unbind(self, dim: int = 0) -> Any:
        return tuple(self.T) if dim in (1, -1) and self.ndim == 2 else of(self).unbind(dim)

    def _where(self) -> tuple[Any, Spans]:
        return self.domain, self.spans

    __iter__ = __len__ = __bool__ = __setitem__ = __int__ = __index__ = refused
    __hash__ = None  # type: ignore[assignment]


def _is_of_rows(index: Any) -> bool:
    """Whether a part of an index says which rows are meant: some, or one."""
    if isinstance(index, Tensor):
        return index.dim() == 0 and index.dtype in (torch.int64, torch.int32)
    return isinstance(index, (Picked, int)) or (isinstance(index, slice) and index != slice(None))


def _is_list(index: Any) -> bool:
    """Whether an index is one of places that are known to be as many."""
    if isinstance(index, list):
        return all(isinstance(each, int) for each in index)
    return isinstance(index, Tensor) and index.dim() == 1 and index.dtype in (torch.int64, torch.int32)


def column(domain: Any, dim: int) -> Picked:
    """The numbers of a dim of a mask at what it keeps."""
    spans = tuple(each == dim for each in range(len(domain.grid)))
    return Picked(torch.arange(domain.grid[dim], device=domain.mask.device), domain, spans, dim)


def columns(domain: Any) -> tuple[Picked, ...]:
    """The numbers of every dim of a mask at what it keeps."""
    return tuple(column(domain, dim) for dim in range(len(domain.grid)))


Ragged.kind = Picked


def _called(func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    name = getattr(func, "__name__", "")
    leaves = tree_leaves((args, kwargs))
    given = [value for value in leaves if isinstance(value, Picked)]
    ranks = {each.rows.dim() for each in given}
    if any(isinstance(value, Ragged) for value in leaves) or (len(ranks) > 1 and beyond(name) and name not in CLASSES):
        return called(func, args, kwargs)
    if not given or isinstance(kwargs.get("out"), (Tensor, Picked)):  # they are part of an index
        raise depends()
    if name in DIFFERENT:
        return DIFFERENT[name](*args, **kwargs, kind=Picked)
    if kwargs.get("inplace") or is_in_place(name):
        return _in_place(func, name, args, kwargs)
    domains = [each.domain for each in given]

    def aligned(value: Any) -> Any:
        return Picked(value.spread(spans), value.domain, spans, value.places) if isinstance(value, Picked) else value

    if len({*domains}) > 1 and len({domain.root for domain in domains}) == 1:
        args, kwargs = tree_map(
            lambda each: dense(each) if isinstance(each, Picked) else each, (tuple(args), dict(kwargs))
        )
        return _called(func, args, kwargs)
    if len({*domains}) > 1 and beyond(name):
        return called(func, args, kwargs)
    spans = union(given)
    if len(ranks) > 1 and name not in CLASSES:
        raise depends()
    if isinstance(args[0], Picked) and name in SAME_PLACES:
        return Picked(_rows(func, args, kwargs), *args[0]._where(), args[0].places)
    return _of_rows(func, name, aligned(given[0]), *tree_map(aligned, (tuple(args), dict(kwargs))))


def _of_rows(func: Callable[..., Any], name: str, first: Picked, args: Any, kwargs: Any) -> Any:
    """A function of rows that all span the same dims."""
    given = [value for value in tree_leaves((args, kwargs)) if isinstance(value, Picked)]
    own, rank, reduction = isinstance(args[0], Picked), first.rows.dim(), kwargs.get("reduction", "mean")
    if name in CLASSES and len(args) == len(given) == 2:
        return _of_classes(func, *args, **kwargs)
    if name in LOSSES and len(args) == 2:
        whole = _mapped(func, first, args, {**kwargs, "reduction": "none"})
        return whole if reduction == "none" else OVER[reduction](_everywhere(whole), None)
    if name in IN_ORDER and own and len(given) == 1 and not _is_inner(rank, dim_of(name, args, kwargs)):
        return IN_ORDER[name](*args, **kwargs)
    if name == "stack" and len(given) == len(args[0]) and dim_of(name, args, kwargs) == 0:
        return stacked(args[0])
    if name == "batch_norm" and own and len(given) == 1 and rank == 2:
        return batch_norm(_everywhere(first), *args[1:], **kwargs)
    if name == "dot" and len(given) == 2:
        return OVER["sum"](_mapped(torch.mul, first, args, kwargs), None)
    if name in ELEMENTWISE and name != "__matmul__":
        return _mapped(func, first, args, kwargs) if _is_within(first, args, kwargs) else called(func, args, kwargs)
    if (
        name in SHAPED
        and own
        and len(given) == 1
        and not kwargs
        and (name != "unsqueeze" or args[1] not in (0, -rank - 1))
    ):
        return shaped(func, name, first, args[1:])
    if name in SIZED and own and not kwargs:
        return sized(name, first, args[1:])
    if (
        name == "dropout"
        and own
        and (kwargs.get("p", args[1] if len(args) > 1 else 0.5) == 0 or not _training(args, kwargs))
    ):
        return first
    if name in ("matmul", "__matmul__", "linear", "layer_norm", "rms_norm") and own and _is_by_row(name, args):
        return _mapped(func, first, args, kwargs, broadcast=False)
    if rank >= ROW_BY_ROW.get(name, math.inf) and own:
        alike = all(isinstance(each, Picked) for each in args if isinstance(each, (Picked, Tensor)))
        return _mapped(func, first, args, kwargs, broadcast=alike)
    if name == "einsum" and (found := _einsum(first, *args)) is not None:
        return found
    if name in OVER and own and len(given) == 1:
        return _over(func, name, first, args[1:], kwargs)
    if name in DIM_OF:
        dim = dim_of(name, args, kwargs)
        if dim is not None and _is_inner(rank + (name == "stack"), dim):
            if name == "gather" and own:  # others may be no places
                index = kwargs.get("index", args[-1])
                index = first.made(index.valid(first.spans)) if isinstance(index, Picked) else index
                args, kwargs = (args[0], dim, index), {}
            return _mapped(func, first, args, kwargs)
        plain = len(args) < 3 and kwargs.get("dtype") is None and set(kwargs) <= {"dim", "dtype", "_stacklevel"}
        if dim is not None and dim % rank == 0 and name in ALONG and own and plain:
            return ALONG[name](func, _everywhere(first), 0)
    if beyond(name):
        return called(func, args, kwargs)
    raise depends()


def _training(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    return kwargs.get("training", args[2] if len(args) > 2 else True)


def _in_place(func: Callable[..., Any], name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Picked:
    """What changes rows that nobody else sees."""
    x = args[0]
    plain = name if kwargs.get("inplace") else out_of_place(name)
    if not isinstance(x, Picked) or x.shared or plain not in ELEMENTWISE:
        raise depends()
    options = {key: value for key, value in kwargs.items() if key != "inplace"}
    new = _called(func if kwargs.get("inplace") else getattr(Tensor, plain), args, options)
    x.rows, x.spans, x.places = new.rows.to(x.dtype), new.spans, None
    x.front = None
    return x


def _rows(func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    given, named = tree_map(lambda each: each.rows if isinstance(each, Picked) else each, (tuple(args), dict(kwargs)))
    return func(*given, **named)


def _mapped(
    func: Callable[..., Any], first: Picked, args: Sequence[Any], kwargs: Mapping[str, Any], broadcast: bool = True
) -> Any:
    """A function of each row for itself. `broadcast`: tensors beside them meet the rows from the last dim on."""
    if broadcast and not _is_within(first, args, kwargs):
        raise depends()
    count = first.rows.shape[:1]

    def of_rows(result: Any) -> Any:
        if not isinstance(result, Tensor) or result.shape[:1] != count:
            raise depends()
        return Picked(result, *first._where())

    return tree_map(of_rows, _rows(func, args, kwargs))


def _is_within(first: Picked, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether tensors that meet rows from the last dim on are the same for all rows."""
    tensors = [value for value in tree_leaves((args, kwargs)) if isinstance(value, Tensor)]
    rank = first.rows.dim()
    return all(value.dim() < rank or (value.dim() == rank and value.shape[0] == 1) for value in tensors)


def _is_by_row(name: str, args: Sequence[Any]) -> bool:
    """Whether a product or norm leaves the first dim of its first argument alone."""
    rank, other = args[0].rows.dim(), args[1]
    if isinstance(other, Picked):
        return "matmul" in name and rank > 2
    if name.endswith("norm"):
        return len(other) < rank
    return rank > 1 and isinstance(other, Tensor) and other.dim() <= 2


def _einsum(first: Picked, equation: str, *operands: Any) -> Any:
    terms, arrow, result = equation.replace(" ", "").partition("->")
    row, each = "", terms.split(",")
    for term, operand in zip(each, operands, strict=True):
        row = row or (term[:1] if isinstance(operand, Picked) else "")
    by_row = all(
        term.startswith(row) and term.count(row) == 1 if isinstance(operand, Picked) else row not in term
        for term, operand in zip(each, operands, strict=True)
    )
    if not arrow or "." in equation or not by_row or not result.startswith(row):
        return None
    return _mapped(torch.einsum, first, (equation, *operands), {}, broadcast=False)


def _of_classes(func: Callable[..., Any], logits: Any, target: Any, **options: Any) -> Any:
    """A loss by classes, which has a number of its own for rows that do not count."""
    ignored = options.get("ignore_index", IGNORED)
    if not isinstance(logits, Picked) or logits.rows.dim() != 2 or target.rows.dim() != 1:
        raise depends()
    logits, target = _everywhere(logits), _everywhere(target)
    loss = func(logits.rows, torch.where(target.domain.kept, target.rows, ignored), **options)
    return Picked(loss, logits.domain) if options.get("reduction") == "none" else loss


def _everywhere(x: Picked) -> Picked:
    return Picked(x.spread(), x.domain)


def _is_inner(rank: int, dim: Any) -> bool:
    """Whether a dim, or all of several, is another than that of the rows."""
    dims = dim if isinstance(dim, (list, tuple)) else (dim,)
    return bool(dims) and all(isinstance(d, int) and d % rank != 0 for d in dims)


def _over(func: Callable[..., Any], name: str, x: Picked, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A reduction: of everything, of the rows, or of each row for itself."""
    dim = args[0] if args else kwargs.get("dim")
    if isinstance(dim, (Tensor, Picked)) or (args and name == "norm"):
        raise depends()
    if dim is not None and _is_inner(x.rows.dim(), dim):
        return _mapped(func, x, (x, *args), kwargs)
    of_all = dim is None or {each % x.ndim for each in (dim if isinstance(dim, (tuple, list)) else (dim,))}
    keep = kwargs.get("keepdim", len(args) > 1 and args[1])
    spread = name in ("var", "std")
    named = {"dim", "keepdim", *(("unbiased", "correction") if spread else ())}
    if len(args) > (1 if spread else 2) or set(kwargs) - named or keep not in (0, 1):
        raise depends()
    if of_all not in (True, {0}, {*range(x.ndim)}) or (keep and of_all == {0} and name in PAIRS):
        raise depends()
    x = _everywhere(x)
    if of_all == {0} and name in PAIRS:
        return pair(func, name, x)
    over = None if dim is None or of_all != {0} else 0
    found = OVER[name](x, over, *((int(kwargs.get("correction", kwargs.get("unbiased", 1))),) if spread else ()))
    return (found[None] if over == 0 else found.reshape((1,) * x.ndim)) if keep else found
