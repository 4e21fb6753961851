"""Rules of pooling: a reduction over the taps of a window that slides over the input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from akg_core.design.algebra.index import Index, ceil_div, index, product
from akg_core.design.graph.rules import Call, rule, size_value
from akg_core.design.graph.values import (
    Positions,
    Shape,
    Value,
    arithmetic,
    cast,
    compute,
    counting,
    fold,
    literal,
    predicate,
    reshape,
    where,
    window,
)
from akg_core.design.operators.reductions import reduced
from akg_core.dtypes import is_float
from akg_core.sketch.numerics import identity


@dataclass(frozen=True, slots=True)
class Side:
    """One dim that a window slides along: `size` positions become `out` results of `taps` taps each.

    Result o starts at `start(o)`; its taps are `dilation` apart. `stop(o)`: where an adaptive window ends.
    """

    size: Index
    out: Index
    taps: Index
    start: Callable[[Index], Index]
    dilation: int = 1
    padding: int = 0
    stop: Callable[[Index], Index] | None = None

    def length(self, at: Index) -> Index:
        """How many taps result `at` really has."""
        return self.taps if self.stop is None else self.stop(at) - self.start(at)


def _sides(c: Call, x: Value, rank: int, dilation: Sequence[int]) -> list[Side]:
    """The sides of a pool with a kernel, stride and padding in arguments 1 to 3."""

    def sliding(size: Index, out: Index, taps: int, stride: int, padding: int, dilation: int) -> Side:
        return Side(size, out, index(taps), lambda at: at * stride - padding, dilation, padding)

    kernel, padding, stride = c.each(1, rank), c.each(3, rank, 0), c.each(2 if c.arg(2) else 1, rank)
    return list(map(sliding, x.shape[-rank:], c.shape[-rank:], kernel, stride, padding, dilation))


def _adaptive(size: Index, out: Index) -> Side:
    """Windows of PyTorch's adaptive pools: from floor(o * size / out) to ceil((o + 1) * size / out)."""
    even = size.exact(out)
    if even is not None:
        return Side(size, out, even, lambda at: at * even)
    if size.constant is None or out.constant is None:
        taps = ceil_div(size, out) + 1
    else:
        n, m = size.constant, out.constant
        taps = index(max(-(-(o + 1) * n // m) - o * n // m for o in range(m)))
    return Side(size, out, taps, lambda at: at * size // out, stop=lambda at: ceil_div((at + 1) * size, out))


def windows(x: Value, sides: list[Side], fill: int | float) -> Value:
    """`x` [*lead, *size] as [*lead, *out, *taps]; `fill` outside of it and past the end of an adaptive window."""
    rank = len(sides)
    lead = len(x.shape) - rank
    shape: Shape = (*x.shape[:lead], *(s.out for s in sides), *(s.taps for s in sides))

    def look(at: Positions) -> Positions:
        results, taps = at[lead : lead + rank], at[lead + rank :]
        slid = (s.start(o) + t * s.dilation for s, o, t in zip(sides, results, taps, strict=True))
        return (*at[:lead], *slid)

    found = window(x, shape, look, fill)
    for d, side in enumerate(sides, lead):
        if side.stop is not None:
            inside = _along(shape, d + rank, lambda tap: tap) < _along(shape, d, side.length)
            found = where(inside, found, fill, found.dtype)
    return found


def _along(shape: Shape, dim: int, number: Callable[[Index], Index]) -> Value:
    """The number that a position along one dim of `shape` gives."""
    return counting(shape, lambda at: number(at[dim]))


# --- maximum ----------------------------------------------------------------------------------------------


@rule("max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool(c: Call) -> tuple[Value, Value]:
    x, rank = c.value(0), 3 if "3d" in c.name else 2
    return _maxima(c, x, _sides(c, x, rank, c.each(4, rank, 1)))


@rule("adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(c: Call) -> tuple[Value, Value]:
    x, rank = c.value(0), len(c.arg(1))
    return _maxima(c, x, list(map(_adaptive, x.shape[-rank:], c.shape[-rank:])))


def _maxima(c: Call, x: Value, sides: list[Side]) -> tuple[Value, Value]:
    """The largest of each window, and where it is in the plane of the input."""
    rank, lead = len(sides), len(x.shape) - len(sides)
    seen = windows(x, sides, identity("max", x.dtype))
    peak = reshape(reduced("max", seen, tuple(range(lead + rank, lead + 2 * rank))), c.shape)
    taps = product(s.taps for s in sides)
    flat = reshape(seen, (*c.shape, taps))
    tap = fold("argmax", flat, (lead + rank,), (x.dtype, "i64"))[1]
    if is_float(x.dtype):  # PyTorch's loop takes the first of equals, and the last NaN
        last = where(predicate("isnan", flat), counting(flat.shape, lambda at: at[-1]), -1, "i64")
        last = reduced("max", last, (lead + rank,))
        tap = where(last < 0, tap, last, "i64")
    place: Value = literal(0, "i64")
    for d, side in enumerate(sides, lead):
        taps = taps.exact(side.taps) or index(1)
        digit, tap = (arithmetic(op, tap, size_value(taps), dtype="i64") for op in ("//", "%"))
        first = _along(c.shape, d, side.start)
        along = first + digit * side.dilation
        if side.padding:
            # Of nothing but -inf the first tap is taken; PyTorch's first one is inside.
            inside = along % side.dilation
            along = where(along < 0, inside, along, "i64")
        place = place * size_value(side.size) + along
    return peak, place


# --- average ----------------------------------------------------------------------------------------------


@rule("avg_pool1d", "avg_pool2d", "avg_pool3d")
def average_pool(c: Call) -> Value:
    x, rank = c.value(0), int(c.name[-2])
    sides = _sides(c, x, rank, [1] * rank)
    total = _totals(c, x, sides)
    if c.arg(6) is not None:
        return total / c.arg(6)
    return _divided(total, [_counted(c, len(x.shape) - rank + d, s, c.arg(5, True)) for d, s in enumerate(sides)])


@rule("_adaptive_avg_pool2d", "_adaptive_avg_pool3d")
def adaptive_average_pool(c: Call) -> Value:
    x, rank = c.value(0), len(c.arg(1))
    sides = list(map(_adaptive, x.shape[-rank:], c.shape[-rank:]))
    found = enumerate(sides, len(x.shape) - rank)
    counts = [side.taps if side.stop is None else _along(c.shape, d, side.length) for d, side in found]
    return _divided(_totals(c, x, sides), counts)


def _totals(c: Call, x: Value, sides: list[Side]) -> Value:
    rank, lead = len(sides), len(x.shape) - len(sides)
    return reshape(reduced("sum", windows(x, sides, 0), tuple(range(lead + rank, lead + 2 * rank))), c.shape)


def _divided(total: Value, counts: Sequence[Index | Value]) -> Value:
    """A sum over how many elements it is of: the product of counts along each side."""
    number = product(n for n in counts if isinstance(n, Index))
    divisor = cast(size_value(number), total.dtype)
    for count in counts:
        if isinstance(count, Value):
            divisor = divisor * cast(count, total.dtype)
    return total / divisor


def _counted(c: Call, dim: int, side: Side, padding_too: bool) -> Index | Value:
    """How many taps count along one side: those inside of the input, or of the padded input."""
    low, high = (-side.padding, side.size + side.padding) if padding_too else (0, side.size)
    last = side.start(side.out - 1) + side.taps
    if -side.padding >= low and (high - last).nonnegative:
        return side.taps
    start = _along(c.shape, dim, side.start)
    stop = compute("minimum", start + size_value(side.taps), size_value(high))
    if low > -side.padding:
        start = compute("maximum", start, low)
    return stop - start
