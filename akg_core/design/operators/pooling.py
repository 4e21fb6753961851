"""Rules of pooling: a reduction over the taps of a window that slides over the input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from akg_core.design.algebra.index import Index, ceil_div, index, product
from akg_core.design.graph.rules import Call, rule, size_value
from akg_core.design.graph.values import (
    Positions,
    Shape,
    Value,
    arithmetic,
    cast,
    comparison,
    counting,
    fold,
    literal,
    map_of,
    reshape,
    where,
    window,
)
from akg_core.design.operators.reductions import reduced
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


def _sides(c: Call, x: Value, rank: int, dilation: Any = 1) -> list[Side]:
    """The sides of a pool with a kernel, stride and padding in arguments 1 to 3."""
    kernel, padding, dilation = (_each(a, rank) for a in (c.arg(1), c.arg(3, 0), dilation))
    stride = _each(c.arg(2) or c.arg(1), rank)
    return [
        _sliding(size, out, *numbers)
        for size, out, *numbers in zip(x.shape[-rank:], c.shape[-rank:], kernel, stride, padding, dilation, strict=True)
    ]


def _sliding(size: Index, out: Index, taps: int, stride: int, padding: int, dilation: int) -> Side:
    return Side(size, out, index(taps), lambda at: at * stride - padding, dilation, padding)


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


def _each(argument: int | Sequence[int], rank: int) -> list[int]:
    listed = [argument] if isinstance(argument, int) else list(argument)
    return listed * rank if len(listed) == 1 else listed


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
            inside = comparison("<", _along(shape, d + rank, lambda tap: tap), _along(shape, d, side.length))
            found = where(inside, found, fill, found.dtype)
    return found


def _along(shape: Shape, dim: int, number: Callable[[Index], Index]) -> Value:
    """The number that a position along one dim of `shape` gives."""
    return counting(shape, lambda at: number(at[dim]))


# --- maximum ----------------------------------------------------------------------------------------------


@rule("max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool(c: Call) -> tuple[Value, Value]:
    x = c.value(0)
    return _maxima(c, x, _sides(c, x, 3 if "3d" in c.name else 2, c.arg(4, 1)))


@rule("adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(c: Call) -> tuple[Value, Value]:
    x, rank = c.value(0), len(c.arg(1))
    return _maxima(c, x, [_adaptive(*pair) for pair in zip(x.shape[-rank:], c.shape[-rank:], strict=True)])


def _maxima(c: Call, x: Value, sides: list[Side]) -> tuple[Value, Value]:
    """The largest of each window, and where it is in the plane of the input."""
    rank, lead = len(sides), len(x.shape) - len(sides)
    seen = windows(x, sides, identity("max", x.dtype))
    peak = reshape(reduced("max", seen, tuple(range(lead + rank, lead + 2 * rank))), c.shape)
    taps = product(s.taps for s in sides)
    flat = reshape(seen, (*c.shape, taps))
    tap = fold("argmax", flat, (lead + rank,), (x.dtype, "i64"))[1]
    place: Value = literal(0, "i64")
    for d, side in enumerate(sides, lead):
        taps = taps.exact(side.taps) or index(1)
        digit, tap = (arithmetic(op, tap, size_value(taps), dtype="i64") for op in ("//", "%"))
        first = _along(c.shape, d, side.start)
        along = arithmetic("+", first, arithmetic("*", digit, side.dilation, dtype="i64"), dtype="i64")
        if side.padding:
            # Of nothing but -inf the first tap is taken; PyTorch's first one is inside.
            inside = arithmetic("%", along, side.dilation, dtype="i64")
            along = where(comparison("<", along, 0), inside, along, "i64")
        place = arithmetic("+", arithmetic("*", place, size_value(side.size), dtype="i64"), along, dtype="i64")
    return peak, place


# --- average ----------------------------------------------------------------------------------------------


@rule("avg_pool1d", "avg_pool2d", "avg_pool3d")
def average_pool(c: Call) -> Value:
    x, rank = c.value(0), int(c.name[-2])
    sides = _sides(c, x, rank)
    total = _totals(c, x, sides)
    if c.arg(6) is not None:
        return arithmetic("/", total, c.arg(6), dtype=x.dtype)
    return _divided(c, total, [_counted(c, len(x.shape) - rank + d, s, c.arg(5, True)) for d, s in enumerate(sides)])


@rule("_adaptive_avg_pool2d", "_adaptive_avg_pool3d")
def adaptive_average_pool(c: Call) -> Value:
    x, rank = c.value(0), len(c.arg(1))
    sides = [_adaptive(*pair) for pair in zip(x.shape[-rank:], c.shape[-rank:], strict=True)]
    counts: list[Index | Value] = []
    for d, side in enumerate(sides, len(x.shape) - rank):
        counts.append(side.taps if side.stop is None else _along(c.shape, d, side.length))
    return _divided(c, _totals(c, x, sides), counts)


def _totals(c: Call, x: Value, sides: list[Side]) -> Value:
    rank, lead = len(sides), len(x.shape) - len(sides)
    return reshape(reduced("sum", windows(x, sides, 0), tuple(range(lead + rank, lead + 2 * rank))), c.shape)


def _divided(c: Call, total: Value, counts: list[Index | Value]) -> Value:
    """A sum over how many elements it is of: the product of counts along each side."""
    number = product(n for n in counts if isinstance(n, Index))
    divisor = cast(size_value(number), total.dtype)
    for count in counts:
        if isinstance(count, Value):
            divisor = arithmetic("*", divisor, cast(count, total.dtype), dtype=total.dtype)
    return arithmetic("/", total, divisor, dtype=total.dtype)


def _counted(c: Call, dim: int, side: Side, padding_too: bool) -> Index | Value:
    """How many taps count along one side: those inside of the input, or of the padded input."""
    low, high = (-side.padding, side.size + side.padding) if padding_too else (0, side.size)
    last = side.start(side.out - 1) + side.taps
    if -side.padding >= low and (high - last).nonnegative:
        return side.taps
    start = _along(c.shape, dim, side.start)
    stop = arithmetic(
        "minimum", arithmetic("+", start, size_value(side.taps), dtype="i64"), size_value(high), dtype="i64"
    )
    if low > -side.padding:
        start = map_of("maximum", start, literal(low, "i64"), dtype="i64")
    return arithmetic("-", stop, start, dtype="i64")
