"""Rules of running sums, products, maxima and minima, along any dim and in both directions."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from types import SimpleNamespace

from akg_core.design.algebra.index import index
from akg_core.design.graph.rules import Call, rule
from akg_core.design.graph.values import (
    Literal,
    Pointwise,
    Positions,
    Scan,
    Shape,
    Value,
    cast,
    compute,
    counting,
    map_of,
    narrow,
    permute,
    predicate,
    view,
    where,
    wide,
    window,
)
from akg_core.design.operators.turns import looped
from akg_core.dtypes import is_float
from akg_core.sketch.numerics import identity


def scanned(op: str, x: Value, dim: int, reverse: bool = False) -> Value:
    """The running `op` of x along `dim`, in the dtype of x."""
    return Scan(op, x, dim, reverse, shape=x.shape, dtype=x.dtype)


@rule("cumsum", "cumprod")
def running(c: Call) -> Value:
    x = cast(c.value(0), wide(c.option("dtype") or c.dtype))
    if not x.shape or x.shape[c.arg(1) % len(x.shape)] == 1:
        return x
    # PyTorch runs in double precision on a CPU; a running sum has no other way to be as exact. What narrow integers
    # lose of a long sum is lost of each part of it.
    dtype = "f64" if is_float(x.dtype) else "i64"
    return cast(scanned(c.name[3:], cast(x, dtype), c.arg(1) % len(x.shape)), x.dtype)


@rule("cummax", "cummin")
def running_extreme(c: Call) -> tuple[Value, Value]:
    """The extremes so far, and where they are: at the last of equals; a NaN is extreme, and the last of them counts."""
    x, kind = c.value(0), c.name[3:]
    if not x.shape or x.shape[c.arg(1) % len(x.shape)] == 1:
        return x, Literal(0, shape=x.shape, dtype="i64")
    dim = c.arg(1) % len(x.shape)
    ordered = cast(x, "i64") if x.dtype == "bool" else x
    extreme = scanned(kind, ordered, dim)
    new = ordered.equals(extreme)
    if is_float(x.dtype):
        new = new | predicate("isnan", ordered)
    places = where(new, counting(x.shape, lambda at: at[dim]), -1, "i64")
    return cast(extreme, x.dtype), scanned("max", places, dim)


@rule("logcumsumexp")
def running_logsumexp(c: Call) -> Value:
    """The largest so far, and the sum of the others' exponentials beside it: turn by turn, whatever their distance."""
    x = cast(c.value(0), "f64")
    if not x.shape:
        return c.value(0)
    dim = c.arg(1) % len(x.shape)
    order = (dim, *(d for d in range(len(x.shape)) if d != dim))

    def turn(t: SimpleNamespace) -> dict[str, Value]:
        peak = map_of("maximum", t.peak, t.x, dtype="f64")
        level = _level(peak)
        before, new = (compute("exp", each - level) for each in (t.peak, t.x))
        return {"peak": peak, "total": t.total * before + new}

    rows = permute(x, order)
    start = {n: Literal(v, shape=rows.shape[1:], dtype="f64") for n, v in (("peak", -math.inf), ("total", 0.0))}
    states = looped(x.shape[dim], turn, start, {"x": rows})
    peak, total = (narrow(states[name], 0, index(1), x.shape[dim]) for name in ("peak", "total"))
    found = _level(peak) + compute("log", total)
    return cast(permute(found, [order.index(d) for d in range(len(order))]), c.wide)


def _level(peak: Value) -> Value:
    """What is taken off before an exponential: nothing where that would be infinity less infinity."""
    return where(predicate("isinf", peak), 0.0, peak, "f64")


@rule("flip")
def flipped(c: Call) -> Value:
    value = c.raw(0)
    return _flipped(value, frozenset(c.dims(c.arg(1), len(value.shape)) if c.arg(1) else ()))


def flip(value: Value, dims: Collection[int]) -> Value:
    """`value` walked backwards along `dims`."""
    if not dims:
        return value
    sizes = value.shape
    return view(value, sizes, lambda at: tuple(sizes[d] - 1 - p if d in dims else p for d, p in enumerate(at)))


def _flipped(value: Value, dims: frozenset[int]) -> Value:
    """`value` backwards along `dims`; a running sum backwards is that of its argument backwards, run from the end."""
    inner, casts = _uncast(value)
    if not isinstance(inner, Scan) or inner.dim not in dims:
        return flip(value, dims)
    result = scanned(inner.op, flip(inner.arg, {inner.dim}), inner.dim, not inner.reverse)
    return flip(_cast(result, casts), dims - {inner.dim})


def exclusive(parts: Sequence[Value], dim: int, shape: Shape) -> Value | None:
    """Parts beside each other along `dim` as one running sum of what lies before each position, when they are that.

    That is a running sum with so many identity elements before its first position that none of them counts.
    """
    scans = [number for number, part in enumerate(parts) if isinstance(_uncast(part)[0], Scan)]
    if len(scans) != 1:
        return None
    (number,) = scans
    scan, casts = _uncast(parts[number])
    assert isinstance(scan, Scan)
    beside = [part for part in parts if part is not parts[number]]
    ended = number == (0 if scan.reverse else len(parts) - 1)
    none = identity(scan.op, scan.dtype)
    if scan.dim != dim or not ended or not beside or not all(_is(part, none) for part in beside):
        return None
    moved = index(0) if scan.reverse else shape[dim] - scan.shape[dim]

    def before(at: Positions) -> Positions:
        return tuple(p - moved if d == dim else p for d, p in enumerate(at))

    arg, widened = _uncast(scan.arg)
    shifted = _cast(window(arg, shape, before, identity(scan.op, arg.dtype)), widened)
    return _cast(scanned(scan.op, shifted, dim, scan.reverse), casts)


def _is(value: Value, number: float) -> bool:
    literal, _ = _uncast(value)
    return isinstance(literal, Literal) and literal.number == number


def _uncast(value: Value) -> tuple[Value, list[str]]:
    """What a value is a cast of, and the dtypes that it is cast to, the last one first."""
    casts: list[str] = []
    while isinstance(value, Pointwise) and value.op in ("cast", "copy"):
        casts.append(value.dtype)
        (value,) = value.args
    return value, casts


def _cast(value: Value, casts: Sequence[str]) -> Value:
    """`value` cast as `_uncast` found it."""
    for dtype in reversed(casts):
        value = cast(value, dtype)
    return value
