"""Rules of operators that read positions from a tensor: gather, embedding, index_select, advanced indexing."""

from __future__ import annotations

from akg_core.design.index import Index, index
from akg_core.design.reductions import reduced
from akg_core.design.rules import Call, rule
from akg_core.design.values import (
    Counting,
    Gather,
    Literal,
    Map,
    Positions,
    Value,
    View,
    arithmetic,
    cast,
    comparison,
    expand,
    map_of,
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
    if any(p.dtype == "bool" for p in places):
        raise c.unsupported("with a mask, where the size of the result depends on values,")
    # What is picked takes the place of the dims that are indexed; where these are apart, it comes first.
    together = dims == list(range(dims[0], dims[0] + len(dims)))
    first, rank = dims[0] if together else 0, max(len(p.shape) for p in places)
    block = c.shape[first : first + rank]
    spread = tuple(
        view(expand(_from_end(p, value.shape[d]), block), c.shape, lambda at: at[first : first + rank])
        for d, p in zip(dims, places, strict=True)
    )

    def look(at: Positions, found: Positions) -> Positions:
        rest, picked = iter((*at[:first], *at[first + rank :])), iter(found)
        return tuple(next(picked) if d in dims else next(rest) for d in range(len(value.shape)))

    return Gather(value, spread, look, shape=c.shape, dtype=value.dtype)


@rule("bucketize", "searchsorted")
def bucketize(c: Call) -> Value:
    """How many boundaries lie before each value, which is its bucket; a NaN comes after all."""
    x, bounds = (c.value(0), c.value(1)) if c.name == "bucketize" else (c.value(1), c.value(0))
    if len(bounds.shape) != 1 or c.arg(5) is not None or c.option("sorter") is not None:
        raise c.unsupported("with rows of boundaries or with a sorter")
    right = c.option("right", False) or c.option("side") == "right"
    spread = (*x.shape, *bounds.shape)
    dtype = c.common(x, bounds)
    each = expand(reshape(cast(x, dtype), (*x.shape, index(1))), spread)
    after = comparison(">" if right else ">=", expand(cast(bounds, dtype), spread), each)
    before = cast(map_of("not", after, dtype="bool"), "i64")
    return cast(reduced("sum", before, (len(x.shape),)), c.dtype)


def _nonnegative(places: Value) -> bool:
    """Whether positions are plainly not negative."""
    match places:
        case Counting() | Literal():
            return isinstance(places, Literal) and places.number >= 0
        case Map(op="cast" | "copy" | "floor" | "round", args=(inner,)) | View(arg=inner):
            return _nonnegative(inner)
        case Map(op="maximum", args=args):
            return any(map(_nonnegative, args))
        case Map(op="minimum" | "+" | "*", args=args):
            return all(map(_nonnegative, args))
    return False


def _from_end(places: Value, size: Index) -> Value:
    """Positions counted from the end where they are negative."""
    places = cast(places, "i64")
    if _nonnegative(places):
        return places
    return where(comparison("<", places, 0), arithmetic("+", places, size_value(size), dtype="i64"), places, "i64")
