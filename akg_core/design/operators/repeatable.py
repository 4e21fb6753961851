"""Updates that are added in the same order in every call, where atomics would add them as they come.

Updates are sorted by the places that they go to, those of one place by their numbers; each place then adds up its own.
"""

from __future__ import annotations

from operator import itemgetter

from akg_core.design.algebra.index import Index, flatten, index, product
from akg_core.design.graph.places import Places
from akg_core.design.graph.rules import Choices
from akg_core.design.graph.values import (
    Positions,
    Segmented,
    Value,
    cast,
    counting,
    expand,
    held,
    reshape,
    view,
    where,
)
from akg_core.design.operators.gathers import gathered, searched
from akg_core.design.operators.sorting import ordered
from akg_core.dtypes import is_float


def added(places: Places, base: Value, updates: Value, choices: Choices) -> Value:
    """`base` with updates added to it, floats in the same order in every call where `choices` ask for that."""
    if not (choices.repeatable and is_float(base.dtype)):
        return places.joined(base, updates, "add")
    keys = held(reshape(_keys(places), (product(places.read[0].shape),)))
    order = held(ordered(keys, choices.longest_sorted))
    rows = gathered(_rows(places, expand(cast(updates, base.dtype), places.updates)), 0, order)
    at_each = counting((product(places.keys),), lambda at: at[0])
    in_order = held(gathered(keys, 0, order))
    starts, stops = (held(searched(in_order, at_each, right)) for right in (False, True))
    sums = Segmented("sum", rows, starts, stops, shape=(product(places.keys), *rows.shape[1:]), dtype=base.dtype)
    found = view(held(sums), places.base, lambda at: (flatten(places.seen(at), places.keys), *_rest(places, at)))
    return expand(base, places.base) + found


def _keys(places: Places) -> Value:
    """For each element of what is read the number of the place that it leads to; -1 where that is none."""
    read = [cast(value, "i64") for value in places.read]
    by_dim = dict(zip(places.dims, read, strict=True))
    own = places.dims if len(places.keys) == len(read) else range(len(places.keys))
    key: Value | None = None
    inside: Value | None = None
    for dim, size in zip(own, places.keys, strict=True):
        place = by_dim[dim] if dim in by_dim else counting(read[0].shape, itemgetter(dim))
        within = (place >= 0) & (place < _number(size))
        inside = within if inside is None else inside & within
        key = place if key is None else key * _number(size) + place
    assert key is not None and inside is not None
    return where(inside, key, -1, "i64")


def _number(size: Index) -> Value:
    return counting((), lambda at: size)


def _rest(places: Places, at: Positions) -> Positions:
    """The positions of a place along the dims that no key says."""
    return tuple(p for d, p in enumerate(at) if d not in places.dims) if _is_part(places) else ()


def _is_part(places: Places) -> bool:
    """Whether a key is a position along the dims that are read, rather than along all."""
    return len(places.keys) == len(places.read) and len(places.keys) < len(places.base)


def _rows(places: Places, updates: Value) -> Value:
    """The updates as rows: one for each element of what is read, of all dims that no key says."""
    count = product(places.read[0].shape)
    if not _is_part(places):
        return reshape(updates, (count,))
    rest = [d for d in range(len(places.base)) if d not in places.dims]

    def look(at: Positions) -> Positions:
        here = dict(zip(rest, at[1:], strict=True))
        return places.back(tuple(here.get(d, index(0)) for d in range(len(places.base))), at[0])

    return view(updates, (count, *(places.base[d] for d in rest)), look)
