"""Rows that a mask keeps, one after the other, for what asks for their order: sorting, single rows, concatenation,
rows of which each becomes several, different numbers. Worker side only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from akg_core.task.data_dependent.counted import compacted
from akg_core.task.data_dependent.domain import Domain, Rows, depends, together


def dense(x: Any) -> Any:
    """The same rows at the front of as many as there may be; what is behind them means nothing."""
    if x.domain.is_dense:  # in the one domain that all have which have as many
        same = x.domain is x.domain.front or x.domain.kept.shape != x.domain.front.kept.shape
        return type(x)(x.spread(), x.domain if same else x.domain.front)
    if x.front is None:
        x.front = type(x)(compacted(x), x.domain.front)
    return x.front


_COLUMNS = 16  # of which each takes a sort, to put rows of several numbers in order


def _least(dtype: torch.dtype) -> float:
    return -math.inf if dtype.is_floating_point else 0 if dtype == torch.bool else torch.iinfo(dtype).min


def _most(dtype: torch.dtype) -> float:
    """What no number of a dtype comes after in order: of floats NaN."""
    return math.nan if dtype.is_floating_point else 1 if dtype == torch.bool else torch.iinfo(dtype).max


def _behind(x: Rows, descending: bool) -> Tensor:
    """Dense rows with a number behind them that no other comes after in order."""
    kept = x.domain.kept.reshape(-1, *(1,) * (x.rows.dim() - 1))
    return torch.where(kept, x.rows, (_least if descending else _most)(x.rows.dtype))


def ordered(x: Any, descending: bool) -> tuple[Any, Any]:
    """The rows in order, column by column, and where they were; of equal ones the first comes first."""
    x = dense(x)
    values, places = torch.sort(_behind(x, descending).to(x.rows.dtype), dim=0, descending=descending, stable=True)
    return x.made(values), x.made(places)


def _sort(x: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    return torch.return_types.sort(ordered(x, descending))


def _argsort(x: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    return ordered(x, descending)[1]


def _topk(x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    values, places = ordered(x, largest)
    return torch.return_types.topk((values.rows[:k], places.rows[:k]))


def _middle(x: Any, dim: int | None = None) -> Any:
    values, places = ordered(x if dim is not None else flattened(x), False)
    at = ((values.domain.count - 1) // 2).reshape(1)
    found = values.rows[at][0]
    return found if dim is None else torch.return_types.median((found, places.rows[at][0]))


def _quantile(x: Any, q: Any, dim: int | None = None) -> Any:
    if not isinstance(q, (int, float)):
        raise depends()
    rows = ordered(x if dim is not None else flattened(x), False)[0]
    at = (rows.domain.count - 1) * q
    below, above = (rows.rows[end.long().reshape(1)][0] for end in (at.floor(), at.ceil()))
    return torch.lerp(below, above, (at - at.floor()).to(below.dtype))


IN_ORDER: dict[str, Callable[..., Any]] = {
    "sort": _sort, "argsort": _argsort, "topk": _topk, "median": _middle, "quantile": _quantile,
    "msort": lambda x: ordered(x, False)[0],
}  # fmt: skip
"""Functions along the rows that ask for their order."""


def flattened(x: Any, rest: Sequence[int] = ()) -> Any:
    """Rows [m, *rest] made of the elements of all rows, in order: of each row so many that nothing is left over."""
    factor, left = divmod(math.prod(x.rows.shape[1:]), math.prod(rest))
    if left or not factor:
        raise depends()
    return type(x)(x.spread().reshape(-1, *rest), x.domain.repeated(factor) if factor > 1 else x.domain)


def length(start: Any, stop: Any, step: Any) -> tuple[str, int] | None:
    """How many rows a slice has, of however many: the first so many, or so many less; None where that is not known."""
    if step not in (None, 1) or not all(end is None or isinstance(end, int) for end in (start, stop)):
        return None
    if stop is None and start is not None and start < 0:
        return "first", -start
    if start in (None, 0) and stop is not None and stop >= 0:
        return "first", stop
    if (start or 0) >= 0 and (stop is None or stop < 0):
        return "less", (start or 0) - (stop or 0)
    return None


def row(x: Any, at: int) -> Tensor:
    """One of the rows, counted from the end where it is below 0."""
    rows = dense(x).rows
    return rows[at] if at >= 0 else rows[(x.domain.count + at).reshape(1)][0]


def taken(x: Any, at: Any) -> Any:
    """The rows at places, which are a tensor or rows themselves."""
    rows = dense(x).rows
    if isinstance(at, Rows) and at.places == 0 and at.domain.grid == rows.shape[:1]:  # each is at its own place
        return Rows.made(at, rows)
    places = at.valid(at.spans) if isinstance(at, Rows) else at
    found = rows[torch.where(places < 0, places + x.domain.count, places)]
    return at.made(found) if isinstance(at, Rows) else found


def of_rows(parts: Any, dim: Any = 0) -> bool:
    """Whether some of these tensors are rows, and they are joined along these."""
    rows = [part for part in parts if isinstance(part, Rows)]
    return bool(rows) and isinstance(dim, int) and dim % rows[0].rows.dim() == 0


def joined(parts: Sequence[Any], known: dict[Any, Any]) -> Any:
    """Rows and tensors one after the other; those of the same domains have one in common, which is `known`."""
    first = next(part for part in parts if isinstance(part, Rows))
    rows = [part.spread() if isinstance(part, Rows) else part for part in parts]
    key = tuple(id(part.domain) if isinstance(part, Rows) else int(part.shape[0]) for part in parts)
    if key not in known:
        masks = [
            part.domain.kept if isinstance(part, Rows) else torch.ones(part.shape[:1], dtype=torch.bool)
            for part in parts
        ]
        known[key] = Domain(torch.cat(masks)), [part.domain for part in parts if isinstance(part, Rows)]
    whole = type(first)(torch.cat(rows), known[key][0])
    front = together([part.domain for part in parts if isinstance(part, Rows)]) if len(parts) == 2 else None
    if front is not None:
        return type(first)(compacted(whole)[: front.kept.shape[0]], front)
    return whole


def _every(x: Any, kind: type[Any], dim: int | None) -> Any:
    """The elements of a tensor as rows, all of which are kept, or its parts along a dim [n, elements]; the same of
    rows."""
    if isinstance(x, Rows):
        return dense(flattened(x)) if dim is None else x.made(x.spread().flatten(1))
    rows = x.reshape(-1) if dim is None else x.movedim(dim, 0).flatten(1)
    return kind(rows, Domain(torch.ones(rows.shape[0], dtype=torch.bool, device=x.device), is_dense=True))


def _in_order(x: Any) -> tuple[Any, Tensor]:
    """Rows of numbers, or of several by the first that differs, the least first; and where they were."""
    if x.rows.dim() == 1:
        values, places = ordered(x, False)
        return values, places.rows
    if x.rows.shape[1] > _COLUMNS:
        raise depends()
    x = dense(x)
    order = torch.arange(x.rows.shape[0], device=x.rows.device)
    for column in reversed(range(x.rows.shape[1])):
        order = order[ordered(x.made(x.rows[order, column]), False)[1].rows]
    return x.made(x.rows[order]), order


def different(
    x: Any,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Any = None,
    *,
    kind: type[Any],
    in_order: bool = False,
) -> Any:
    """The numbers of a tensor or of rows, each once where equal ones come one after the other; `in_order`: the least
    first. As rows of a `kind`; beside them where each number is among them, and how often it is there."""
    rank = x.rows.dim() if isinstance(x, Rows) else x.dim()
    dim = dim if dim is None else dim % rank
    if isinstance(x, Rows) and (dim or (return_inverse and rank > 1 and dim is None)):
        raise depends()
    values, places = _in_order(_every(x, kind, dim)) if in_order else (_every(x, kind, dim), None)
    differs = values.rows[1:] != values.rows[:-1]
    differs = differs if differs.dim() == 1 else differs.any(1)
    domain = Domain(torch.cat([values.domain.kept[:1], differs & values.domain.kept[1:]]))
    whole = values.rows if dim is None else values.rows.reshape(-1, *_others(x, dim))
    found = [dense(kind(whole, domain))]
    if return_inverse:
        number = domain.rank if places is None else torch.ops.akg_core.compact(domain.rank, places)
        found.append(
            values.made(number) if isinstance(x, Rows) else number if dim is not None else number.reshape(x.shape)
        )
    if return_counts:
        each = torch.zeros_like(domain.rank).scatter_add(0, domain.rank, values.domain.kept.long())
        found.append(found[0].made(each))
    found[0] = found[0].movedim(0, dim) if dim else found[0]
    return found[0] if len(found) == 1 else tuple(found)


def _others(x: Any, dim: int) -> list[int]:
    """The sizes of the dims besides one."""
    shape = x.rows.shape if isinstance(x, Rows) else x.shape
    return [*shape[:dim], *shape[dim + 1 :]]


def _unique(x: Any, sorted: bool = True, *options: Any, **named: Any) -> Any:
    """As `torch.unique` of all elements."""
    return different(x, *options, **named, in_order=True)


JOINING = ("cat", "concat", "concatenate")
DIFFERENT: dict[str, Callable[..., Any]] = {"unique": _unique, "unique_consecutive": different}
