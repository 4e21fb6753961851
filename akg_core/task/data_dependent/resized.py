"""Rows that a mask picks in other sizes: those of a row, and rows of which each becomes several. Worker side only."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from akg_core.task.data_dependent.dense import flattened
from akg_core.task.data_dependent.domain import counted, depends


def view(x: Any, part: Any) -> Any:
    """A part of rows, which others may see what is written to."""
    x.shared = part.shared = True
    return part


def shaped(func: Callable[..., Any], name: str, x: Any, args: Sequence[Any]) -> Any:
    """Dims other than that of the rows, made or left out; `squeeze()` is taken to leave theirs."""
    rank = x.rows.dim()
    if name == "flatten" and args in ((), (0,), (0, -1)):
        return view(x, flattened(x)) if math.prod(x.rows.shape[1:]) != 1 else sized("reshape", x, (-1,))
    if name == "squeeze" and not args:
        return sized("reshape", x, (-1, *(size for size in x.rows.shape[1:] if size != 1)))
    (dim,) = args if len(args) == 1 else (0,)
    least = -rank if name == "unsqueeze" else 1 - rank
    if not isinstance(dim, int) or not (dim > 0 or least <= dim < 0):
        raise depends()
    places = x.places[0] if name == "squeeze" and isinstance(x.places, tuple) and len(x.places) == 1 else None
    return view(x, type(x)(func(x.rows, dim), x.domain, x.spans, places))


def sized(name: str, x: Any, args: Sequence[Any]) -> Any:
    """Other sizes of a row: the first one is that of the rows, -1 or how many there are."""
    sizes = list(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else list(args)
    rest, count = x.rows.shape[1:], x.rows.shape[0]
    own = sizes and (counted(sizes[0]) is x.domain or (isinstance(sizes[0], int) and sizes[0] == -1))
    if name == "repeat":
        own = sizes and isinstance(sizes[0], int) and sizes[0] == 1 and len(sizes) == x.rows.dim()
    if not own or any(isinstance(size, Tensor) for size in sizes[1:]):
        raise depends()
    if name in ("repeat", "expand"):
        if len(sizes) != x.rows.dim():
            raise depends()
        return view(
            x, type(x)(getattr(x.rows, name)(sizes[0] if name == "repeat" else count, *sizes[1:]), x.domain, x.spans)
        )
    known = math.prod(size for size in sizes[1:] if size != -1)
    if isinstance(sizes[0], int) and -1 in sizes[1:]:
        raise depends()
    if isinstance(sizes[0], int) and known != math.prod(rest):
        return view(x, flattened(x, sizes[1:]))
    if -1 not in sizes[1:] and known != math.prod(rest):
        raise depends()
    places = x.places[0] if isinstance(x.places, tuple) and len(x.places) == len(sizes) == 1 else None
    places = x.places if isinstance(x.places, int) and len(sizes) == 1 else places
    return view(x, type(x)(x.rows.reshape(count, *sizes[1:]), x.domain, x.spans, places))
