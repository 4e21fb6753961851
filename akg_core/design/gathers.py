"""Rules of operators that read positions from a tensor: gather, embedding, index_select, advanced indexing."""

from __future__ import annotations

from akg_core.design.index import Index
from akg_core.design.rules import Call, rule
from akg_core.design.values import (
    Gather,
    Positions,
    Value,
    arithmetic,
    cast,
    comparison,
    expand,
    reshape,
    size_value,
    view,
    where,
)


def gathered(value: Value, dim: int, places: Value) -> Value:
    """`value` with `dim` replaced by the dims of `places`, which holds positions along it."""
    rank = len(places.shape)
    shape = (*value.shape[:dim], *places.shape, *value.shape[dim + 1 :])
    spread = view(places, shape, lambda at: at[dim : dim + rank])

    def look(at: Positions, found: Positions) -> Positions:
        return (*at[:dim], found[0], *at[dim + rank :])

    return Gather(value, (spread,), look, shape=shape, dtype=value.dtype)


@rule("embedding")
def embedding(c: Call) -> Value:
    return gathered(c.raw(0), 0, cast(c.raw(1), "i64"))


@rule("index_select")
def index_select(c: Call) -> Value:
    value = c.raw(0)
    return gathered(value, c.arg(1) % len(value.shape), cast(c.raw(2), "i64"))


@rule("gather")
def gather(c: Call) -> Value:
    value, dim, places = c.raw(0), c.arg(1), cast(c.raw(2), "i64")
    if not value.shape:
        return reshape(value, c.shape)
    dim %= len(value.shape)

    def look(at: Positions, found: Positions) -> Positions:
        return tuple(found[0] if d == dim else p for d, p in enumerate(at))

    return Gather(value, (places,), look, shape=c.shape, dtype=value.dtype)


@rule("index.Tensor")
def advanced_index(c: Call) -> Value:
    value, lists = c.raw(0), c.arg(1)
    dims = [d for d, reference in enumerate(lists) if reference is not None]
    places = [c.refer(lists[d]) for d in dims]
    if dims != list(range(dims[0], dims[0] + len(dims))) or any(p.dtype == "bool" for p in places):
        raise c.unsupported("with a mask or with indices in separate dims")
    first, rank = dims[0], max(len(p.shape) for p in places)
    block = c.shape[first : first + rank]
    spread = tuple(
        view(expand(_from_end(p, value.shape[d]), block), c.shape, lambda at: at[first : first + rank])
        for d, p in zip(dims, places, strict=True)
    )

    def look(at: Positions, found: Positions) -> Positions:
        return (*at[:first], *found, *at[first + rank :])

    return Gather(value, spread, look, shape=c.shape, dtype=value.dtype)


def _from_end(places: Value, size: Index) -> Value:
    """Positions counted from the end where they are negative."""
    places = cast(places, "i64")
    return where(comparison("<", places, 0), arithmetic("+", places, size_value(size), dtype="i64"), places, "i64")
