"""Rules of operators that write to positions read from a tensor: scatter, index_put and what is made of them.

Sums, maxima and minima are joined in memory, in any order. Where updates replace what is there, the last of those that
meet wins, so that a result is the same each time: which one that is, is a maximum over their numbers.
"""

from __future__ import annotations

import math

from akg_core.design.algebra.index import Axis, Index, index, position, product
from akg_core.design.graph.places import Places, along, indexed
from akg_core.design.graph.rules import Call, Choices, rule, size_value
from akg_core.design.graph.values import (
    Gather,
    Iota,
    Scatter,
    Segmented,
    Shape,
    Value,
    arithmetic,
    broadcast_shape,
    cast,
    compute,
    counting,
    expand,
    held,
    literal,
    narrow,
    reshape,
    where,
    wide,
    window,
)
from akg_core.design.operators.gathers import from_end, gathered, searched
from akg_core.design.operators.reductions import reduced
from akg_core.design.operators.repeatable import added
from akg_core.design.operators.scans import scanned
from akg_core.dtypes import is_float
from akg_core.sketch.numerics import identity

_LONG_SEGMENT = 256  # rows that a program takes one after the other rather than that others join in
_TOGETHER = {"sum": "+", "prod": "*", "max": "maximum", "min": "minimum"}
_OF_TRUTHS = {"sum": "amax", "prod": "amin"}
_JOINS = {"sum": "add", "add": "add", "mean": "add", "amax": "max", "amin": "min"}


@rule("index_put")
def index_put(c: Call) -> Value:
    base, lists, updates, accumulate = c.value(0), c.arg(1), c.value(2), bool(c.arg(3, False))
    dims = [d for d, reference in enumerate(lists) if reference is not None]
    read = [c.refer(lists[d]) for d in dims]
    updates = cast(updates, base.dtype)
    if any(r.dtype == "bool" for r in read):
        return _masked(c, base, dims, read, updates, accumulate)
    together = dims == list(range(dims[0], dims[0] + len(dims)))
    own = broadcast_shape([r.shape for r in read])
    read = [expand(from_end(r, base.shape[d]), own) for d, r in zip(dims, read, strict=True)]
    places = indexed(base.shape, dims, read, dims[0] if together else 0)
    if accumulate:
        if base.dtype == "bool":
            return _result(c, places.joined(base, updates, "max"))
        return _result(c, added(places, base, updates, c.choices))
    return _result(c, places.replaced(base, updates))


def _result(c: Call, value: Value) -> Value:
    """What an operator gives: a scatter in the dtype that it is joined in, and a copy of it in the result's."""
    plain = not isinstance(value, Scatter) or value.dtype == c.dtype
    return value if plain else compute("copy", value)


def _masked(c: Call, base: Value, dims: list[int], read: list[Value], updates: Value, accumulate: bool) -> Value:
    """What a mask picks is replaced by values that do not depend on how many it picks."""
    (mask, *others), after = read, len(base.shape) - len(read[0].shape) - dims[0]
    if others or (len(updates.shape) > after and updates.shape[-after - 1] != 1):
        raise c.unsupported("with a mask and a value for each element that it picks", "Use torch.where.")
    picked = expand(reshape(mask, (*mask.shape, *(index(1),) * after)), base.shape)
    row = updates if len(updates.shape) <= after else reshape(updates, updates.shape[-after:] if after else ())
    new = base + row if accumulate else row
    return where(picked, new, base, base.dtype)


@rule("scatter", "scatter_add", "scatter_reduce")
def scatter(c: Call) -> Value:
    base, read = c.value(0), cast(c.raw(2), "i64")
    number = c.operand(3)
    updates = cast(number, base.dtype) if isinstance(number, Value) else literal(number, base.dtype)
    kind = "sum" if c.name == "scatter_add" else c.arg(4) or c.option("reduce") or ""
    if not base.shape:
        base, read, updates = (reshape(v, (index(1),)) if not v.shape else v for v in (base, read, updates))
    dim = c.arg(1) % len(base.shape)
    for d, size in enumerate(read.shape if updates.shape else ()):
        updates = narrow(updates, d, index(0), size)
    places = along(base.shape, dim, read)
    if not kind:
        return _result(c, reshape(places.replaced(base, updates), c.shape))
    kind = {"add": "sum", "multiply": "prod"}.get(kind, kind)
    found = _reduced(places, base, updates, kind, bool(c.option("include_self", c.arg(5, True))), c.choices)
    return _result(c, reshape(found, c.shape))


@rule("index_reduce")
def index_reduce(c: Call) -> Value:
    base, updates = c.value(0), c.value(3)
    dim = c.arg(1) % len(base.shape)
    places = indexed(base.shape, (dim,), (cast(c.raw(2), "i64"),), dim)
    return _result(
        c, _reduced(places, base, updates, c.arg(4), bool(c.option("include_self", c.arg(5, True))), c.choices)
    )


def _reduced(places: Places, base: Value, updates: Value, kind: str, with_base: bool, choices: Choices) -> Value:
    """`base`, or only what it holds where no update goes, joined with the updates."""
    dtype = base.dtype
    kind = _OF_TRUTHS.get(kind, kind) if dtype == "bool" else kind
    join = {"amax": "max", "amin": "min", "mean": "sum"}.get(kind, kind)
    none = literal(identity(join, dtype), dtype)
    start = base if with_base else none
    if kind == "prod":
        found = _multiplied(places, start, updates)
    elif _JOINS[kind] == "add":
        found = added(places, start, updates, choices)
    else:
        found = places.joined(start, updates, _JOINS[kind])
    if kind == "mean":
        count = places.counted("f32")
        count = arithmetic("+" if with_base else "maximum", count, 1.0, dtype="f32")
        whole = cast(count, dtype)
        found = arithmetic("/" if is_float(dtype) else "//", found, whole, dtype=dtype)
    return found if with_base else where(places.touched(), found, base, dtype)


def _multiplied(places: Places, base: Value, updates: Value) -> Value:
    """The base times all updates of each place, floats in double precision.

    PyTorch begins with the base: of a tiny one and large updates each step is a number, and so must their product be.
    """
    dtype = "f64" if is_float(base.dtype) else base.dtype
    found = cast(base, dtype) * places.looked_for(cast(updates, dtype), "prod")
    return cast(found, base.dtype)


@rule("put")
def put(c: Call) -> Value:
    base = c.value(0)
    flat = reshape(base, (base.size,))
    read = from_end(reshape(c.raw(1), (c.raw(1).size,)), base.size)
    updates = reshape(cast(c.value(2), base.dtype), read.shape)
    places = indexed(flat.shape, (0,), (read,), 0)
    found = added(places, flat, updates, c.choices) if c.arg(3, False) else places.replaced(flat, updates)
    return _result(c, reshape(found, c.shape))


@rule("masked_scatter")
def masked_scatter(c: Call) -> Value:
    """The elements that a mask picks get those of the source, one after the other."""
    base, mask, source = c.value(0), c.raw(1), c.value(2)
    shape = broadcast_shape([base.shape, mask.shape])
    base, picked = expand(base, shape), reshape(expand(mask, shape), (product(shape),))
    before = scanned("sum", cast(picked, "i64"), 0) - 1
    flat = reshape(source, (source.size,))
    new = Gather(flat, (before,), lambda at, found: found, shape=picked.shape, dtype=flat.dtype)
    return reshape(where(picked, new, reshape(base, picked.shape), base.dtype), shape)


@rule("histc")
def histogram(c: Call) -> Value:
    """How many elements lie in each of equal bins; what lies at the last one's end belongs to it."""
    x = reshape(c.value(0), (c.raw(0).size,))
    bins, low, high = int(c.arg(1, 100)), c.arg(2, 0), c.arg(3, 0)
    first: Value = literal(low, x.dtype)
    last: Value = literal(high, x.dtype)
    if low == high:
        first, last = (reduced(kind, x, (0,)) for kind in ("min", "max")) if low == 0 else (first, last)
        same = first.equals(last)
        first = where(same, first - 1, first, x.dtype)
        last = where(same, last + 1, last, x.dtype)
    inside = (x >= first) & (x <= last)
    at = cast((x - first) / (last - first) * bins, "i64")
    at = where(inside, compute("minimum", at, bins - 1), -1)
    shape = (index(bins),)
    counts = indexed(shape, (0,), (at,), 0).joined(literal(0, "i32"), literal(1, "i32"), "add")
    return cast(counts, c.wide)


@rule("bincount.input")
def bincount(c: Call) -> Value:
    """How often each number from 0 to below `minlength` is there, or the sum of its weights; capture refuses larger."""
    read = (cast(c.raw(0), "i64"),)
    each = literal(1, c.dtype) if c.arg(1) is None else cast(c.value(1), c.dtype)
    return _result(c, added(indexed(c.shape, (0,), read, 0), literal(0, c.dtype), each, c.choices))


@rule("compact")
def compact(c: Call) -> Value:
    """Rows at their places among those that are kept; what has none is left out."""
    base = literal(0, c.raw(0).dtype, c.shape)
    return indexed(base.shape, (0,), (c.raw(1),), 0).joined(base, c.raw(0), "set")


@rule("counted")
def counted(c: Call) -> Value:
    """Rows of which the first are meant, as many as a tensor holds: the host narrows what it returns."""
    return c.raw(0)


# --- segments ---------------------------------------------------------------------------------------------


def _segments(starts: Value, count: Index) -> Value:
    """In which segment each of `count` positions lies; segment s is the positions from `starts` [S] of s on."""
    at = counting((count,), lambda at: at[0])
    return held(searched(starts, at, right=True) - 1)


@rule("repeat_interleave")
def repeat_interleave(c: Call) -> Value:
    """Each place of a row as often as a number says, in as many places as `output_size` says."""
    ends = scanned("sum", cast(c.raw(0), "i64"), 0)
    return cast(held(searched(ends, counting(c.shape, lambda at: at[0]), right=True)), c.dtype)


def _of_segments(kind: str, rows: Value, starts: Value, stops: Value, choices: Choices) -> Value:
    """`kind` ("sum", "prod", "max", "min") of the rows from `starts` [S] to before `stops` [S].

    Each segment is one program's; where these are few and long, programs have rows and join them.
    """
    size, shape = rows.shape[0], (*starts.shape, *rows.shape[1:])
    few = choices.repeatable or size.example <= _LONG_SEGMENT * starts.shape[0].example
    if size.constant not in (0, 1) and few:
        return Segmented(kind, rows, starts, stops, shape=shape, dtype=rows.dtype)
    places = indexed(shape, (0,), (_segments(starts, size),), 0)
    none = literal(identity(kind, rows.dtype), rows.dtype, shape)
    return _reduced(places, none, rows, f"a{kind}" if kind in ("max", "min") else kind, True, choices)


def _of_each(count: Value, shape: Shape) -> Value:
    """A number of each segment [S], for all of its row."""
    return expand(reshape(count, (*count.shape, *(index(1),) * (len(shape) - 1))), shape)


@rule("segment_reduce")
def segment_reduce(c: Call) -> Value:
    x, kind, lengths, offsets = c.value(0), c.arg(1), c.option("lengths"), c.option("offsets")
    if c.option("axis", 0) or c.option("indices") is not None or (lengths is None and offsets is None):
        raise c.unsupported("along another axis than the first, or by indices", "Use scatter_reduce.")
    sizes = cast(c.refer(lengths if offsets is None else offsets), "i64")
    if len(sizes.shape) != 1:
        raise c.unsupported("with lengths of several dims", "Use scatter_reduce.")
    if offsets is None:
        stops = held(scanned("sum", sizes, 0))
        starts = stops - sizes
    else:
        last = sizes.shape[0] - 1
        starts, stops = narrow(sizes, 0, index(0), last), narrow(sizes, 0, index(1), last)
    join = {"amax": "max", "amin": "min", "mean": "sum"}.get(kind, kind)
    found = _of_segments(join, cast(x, wide(x.dtype)), starts, stops, c.choices)
    initial, least = c.option("initial"), 0
    if initial is not None:
        found, least = arithmetic(_TOGETHER[join], found, initial, dtype=found.dtype), 1
    if kind == "mean":
        count = compute("maximum", _of_each(stops - starts, c.shape), least)
        return found / cast(count, found.dtype)
    return found


def _each(starts: Value, count: Index) -> Index | None:
    """How many of `count` positions each segment has where `starts` [S] are numbers of which this can be told."""
    if not isinstance(starts, Iota):
        return None
    segment = position(Axis("segment", starts.shape[0]))
    size = count.exact(starts.shape[0])
    return size if size is not None and starts.rule((segment,)) == segment * size else None


@rule("_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(c: Call) -> tuple[Value | None, ...]:
    """Sums, means or maxima of the rows of bags, which begin where `offsets` say."""
    table, read, starts, mode = c.value(0), from_end(c.raw(1), c.raw(0).shape[0]), cast(c.raw(2), "i64"), c.arg(4, 0)
    weights, padding = c.maybe(6), c.arg(8, -1)
    bags, width = c.shape
    rows = gathered(table, 0, read)
    if weights is not None:
        rows = rows * reshape(weights, (*weights.shape, index(1)))
    counts = read.differs(padding) if padding is not None and padding >= 0 else None
    kind, none = ("max", -math.inf) if mode == 2 else ("sum", 0)
    if (size := _each(starts, read.shape[0])) is not None:
        rows, count = reshape(rows, (bags, size, width)), expand(size_value(size), (bags,))
        if counts is not None:
            rows = where(reshape(counts, (bags, size, index(1))), rows, none, table.dtype)
            count = reduced("sum", cast(reshape(counts, (bags, size)), "i64"), (1,))
        total = reduced(kind, rows, (1,))
    else:
        following = window(starts, (bags,), lambda at: (at[0] + 1,))
        stops = where(counting((bags,), lambda at: at[0] + 1) < size_value(bags), following, size_value(read.shape[0]))
        starts = narrow(starts, 0, index(0), bags)
        count = stops - starts
        if counts is not None:
            rows = where(reshape(counts, (*counts.shape, index(1))), rows, none, table.dtype)
            count = _of_segments("sum", cast(counts, "i64"), starts, stops, c.choices)
        total = _of_segments(kind, rows, starts, stops, c.choices)
    count = cast(_of_each(count, c.shape), table.dtype)
    if mode == 2:
        return where(count.equals(0.0), 0.0, total, table.dtype), None, None, None
    if mode == 1:
        total = total / compute("maximum", count, 1.0)
    return _result(c, total), None, None, None
