"""Rules of operators that read positions from a tensor: gather, embedding, index_select, advanced indexing."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from itertools import product

from akg_core.design.algebra.index import Axis, Index, index, position
from akg_core.design.graph.rules import Call, rule, rules, size_value
from akg_core.design.graph.values import (
    Gather,
    Iota,
    Literal,
    Pointwise,
    Positions,
    Value,
    View,
    cast,
    comparison,
    expand,
    held,
    literal,
    reshape,
    view,
    where,
)
from akg_core.design.operators.reductions import reduced
from akg_core.dtypes import is_float

_FAR = 2.0**62  # beyond every position
_SLIP = 1e-4
# Operations whose extremes over intervals are at the intervals' ends.
_MONOTONE: dict[str, Callable[..., float]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "maximum": max, "minimum": min, "neg": operator.neg,
}  # fmt: skip


def gathered(value: Value, dim: int, places: Value) -> Value:
    """`value` with `dim` replaced by the dims of `places`, which holds positions along it."""
    rank = len(places.shape)
    shape = (*value.shape[:dim], *places.shape, *value.shape[dim + 1 :])
    spread = view(places, shape, lambda at: at[dim : dim + rank])

    def look(at: Positions, found: Positions) -> Positions:
        return (*at[:dim], found[0], *at[dim + rank :])

    return Gather(value, (spread,), look, shape=shape, dtype=value.dtype)


def taken(x: Value, places: Value) -> Value:
    """The elements at these positions of rows of `x` [*rows, N]: those of all places [*rows, …] along its last dim."""
    rows = len(x.shape) - 1
    return Gather(x, (places,), lambda at, found: (*at[:rows], found[0]), shape=places.shape, dtype=x.dtype)


rules({"embedding": lambda c: gathered(c.raw(0), 0, cast(c.raw(1), "i64"))})


@rule("index_select")
def index_select(c: Call) -> Value:
    value = c.raw(0)
    if not value.shape:
        return value
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
        raise c.unsupported("with a mask, where the size of the result depends on values")
    # What is picked takes the place of the dims that are indexed; where these are apart, it comes first.
    together = dims == list(range(dims[0], dims[0] + len(dims)))
    first, rank = dims[0] if together else 0, max(len(p.shape) for p in places)
    block = c.shape[first : first + rank]
    spread = tuple(
        view(expand(from_end(p, value.shape[d]), block), c.shape, lambda at: at[first : first + rank])
        for d, p in zip(dims, places, strict=True)
    )

    def look(at: Positions, found: Positions) -> Positions:
        rest, picked = iter((*at[:first], *at[first + rank :])), iter(found)
        return tuple(next(picked) if d in dims else next(rest) for d in range(len(value.shape)))

    return Gather(value, spread, look, shape=c.shape, dtype=value.dtype)


@rule("bucketize", "searchsorted")
def bucketize(c: Call) -> Value:
    """How many boundaries lie before each value, which is its bucket; a NaN comes after all."""
    first, second = (c.operand(n) for n in range(2))
    x, bounds = (first, second) if c.name == "bucketize" else (second, first)
    assert isinstance(bounds, Value)
    x = x if isinstance(x, Value) else literal(x, "f32" if isinstance(x, float) else bounds.dtype)
    if (sorter := c.option("sorter")) is not None:
        bounds = held(taken(bounds, c.refer(sorter)))
    right = bool(c.option("right", c.arg(3, False)) or c.option("side") == "right")
    dtype = c.common(x, bounds)
    return cast(searched(cast(bounds, dtype), cast(x, dtype), right), c.dtype)


def searched(bounds: Value, x: Value, right: bool = False) -> Value:
    """How many of `bounds` [*rows, N], in order, are below each of `x` [*rows, ...]; `right`: or equal to it.

    What is left is halved as PyTorch halves it, so that bounds that are in no order give the same. Where their number
    is not known they are counted. All rows of `x` share bounds of one dim.
    """
    size, rows = bounds.shape[-1], len(bounds.shape) - 1
    after = ">" if right else ">="
    if size.constant is None:
        spread = (*x.shape, size)
        each = expand(reshape(x, (*x.shape, index(1))), spread)
        along = view(bounds, spread, lambda at: (*at[:rows], at[-1]))
        before = cast(~comparison(after, along, each), "i64")
        return reduced("sum", before, (len(x.shape),))
    start: Value = literal(0, "i64", x.shape)
    stop: Value = literal(size.constant, "i64", x.shape)
    for _ in range(size.constant.bit_length()):
        middle = start + (stop - start >> 1)
        before = ~comparison(after, taken(bounds, middle), x) & (start < stop)
        start, stop = where(before, middle + 1, start), where(before, stop, middle)
    return start


def _limits(places: Value) -> tuple[float, float] | None:
    """The least and the greatest that numbers made of positions alone can be; None when that is not known."""
    match places:
        case Literal(number=number):
            return number, number
        case Iota(rule=rule):
            at = tuple(position(Axis(f"d{d}", size)) for d, size in enumerate(places.shape))
            bounds = rule(at).bounds()
            low, high = (None, None) if bounds is None else (b.constant for b in bounds)
            return None if low is None or high is None else (low, high)
        case View(arg=arg) | Pointwise(op="copy", args=(arg,)):
            return _limits(arg)
        case Pointwise(op="maximum", args=args) if None in (found := [_limits(a) for a in args]):
            lows = [f[0] for f in found if f is not None]
            return (max(lows), _FAR) if lows else None
        case Pointwise(op=op, args=args) if op in _MONOTONE:
            known = [limits for a in args if (limits := _limits(a)) is not None]
            if len(known) < len(args):
                return None
            corners = [_MONOTONE[op](*map(float, ends)) for ends in product(*known)]
            return min(corners), max(corners)
        case Pointwise(op="cast" | "floor" as op, args=(arg,), dtype=dtype):
            within = _limits(arg)
            if within is None or (op == "cast" and is_float(dtype)):
                return within
            down = math.floor if op == "floor" else math.trunc
            # What is rounded in f32 may lie on the other side of a whole number.
            first, last = (n if n == round(n) else n + slip for n, slip in zip(within, (-_SLIP, _SLIP), strict=True))
            return down(first), down(last)
        case Pointwise(op="abs", args=(arg,)):
            within = _limits(arg)
            return within and (max(within[0], -within[1], 0), max(-within[0], within[1]))
    return None


def from_end(places: Value, size: Index) -> Value:
    """Positions counted from the end where they are negative."""
    places = cast(places, "i64")
    limits = _limits(places)
    if limits is not None and limits[0] >= 0:
        return places
    return where(places < 0, places + size_value(size), places, "i64")
