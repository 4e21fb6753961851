"""Rules of running sums, products, maxima and minima, along any dim and in both directions."""

from __future__ import annotations

from akg_core.design.rules import Call, rule
from akg_core.design.values import (
    Literal,
    Map,
    Scan,
    Value,
    cast,
    comparison,
    counting,
    flip,
    is_float,
    map_of,
    where,
    wide,
)


def scanned(op: str, x: Value, dim: int, reverse: bool = False) -> Value:
    """The running `op` of x along `dim`, in the dtype of x."""
    return Scan(op, x, dim, reverse, shape=x.shape, dtype=x.dtype)


@rule("cumsum", "cumprod")
def running(c: Call) -> Value:
    x = cast(c.value(0), wide(c.option("dtype") or c.dtype))
    if not x.shape or x.shape[c.arg(1) % len(x.shape)] == 1:
        return x
    # PyTorch runs in double precision on a CPU; a running sum has no other way to be as exact.
    dtype = "f64" if is_float(x.dtype) else x.dtype
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
    new = comparison("==", ordered, extreme)
    if is_float(x.dtype):
        new = map_of("|", new, map_of("isnan", ordered, dtype="bool"), dtype="bool")
    places = where(new, counting(x.shape, lambda at: at[dim]), -1, "i64")
    return cast(extreme, x.dtype), scanned("max", places, dim)


@rule("flip")
def flipped(c: Call) -> Value:
    value = c.raw(0)
    return _flipped(value, frozenset(d % len(value.shape) for d in c.arg(1)))


def _flipped(value: Value, dims: frozenset[int]) -> Value:
    """`value` backwards along `dims`; a running sum backwards is that of its argument backwards, run from the end."""
    casts: list[str] = []
    inner = value
    while isinstance(inner, Map) and inner.op in ("cast", "copy"):
        casts.append(inner.dtype)
        (inner,) = inner.args
    if not isinstance(inner, Scan) or inner.dim not in dims:
        return flip(value, dims)
    result = scanned(inner.op, flip(inner.arg, {inner.dim}), inner.dim, not inner.reverse)
    for dtype in reversed(casts):
        result = cast(result, dtype)
    return flip(result, dims - {inner.dim})
