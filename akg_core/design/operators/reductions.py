"""Rules of reductions, norms, softmax: what is left of each is a few `Reduced`s and elementwise work around them."""

from __future__ import annotations

import math

from akg_core.design.algebra.index import index, product
from akg_core.design.graph.rules import Call, rule, size_value
from akg_core.design.graph.values import (
    Literal,
    Value,
    arithmetic,
    cast,
    compute,
    expand,
    fold,
    literal,
    predicate,
    reshape,
    where,
    wide,
)
from akg_core.design.operators.pointwise import powered

_SIMPLE = {"sum": "sum", "prod": "prod", "amax": "max", "amin": "min", "any": "any", "all": "all"}


def reduced(kind: str, value: Value, dims: tuple[int, ...], keep: bool = False) -> Value:
    """One reduction in the dtype of `value`; of nothing, its neutral element."""
    dims = tuple(d % len(value.shape) for d in dims)
    shape = tuple(index(1) if d in dims else s for d, s in enumerate(value.shape) if keep or d not in dims)
    if any(value.shape[d] == 0 for d in dims) and kind not in ("max", "min"):
        return Literal({"sum": 0, "prod": 1, "any": False, "all": True}[kind], shape=shape, dtype=value.dtype)
    several = tuple(d for d in dims if value.shape[d] != 1)
    return reshape(fold(kind, value, several, (value.dtype,))[0] if several else value, shape)


@rule(*_SIMPLE)
def simple(c: Call) -> Value:
    kind, x = _SIMPLE[c.name], c.value(0)
    dtype = "bool" if kind in ("any", "all") else wide(c.option("dtype") or c.dtype)
    has_dims = not c.op.endswith("default") or kind in ("max", "min")
    dims = c.dims(c.arg(1) if has_dims else None, len(x.shape))
    return reshape(reduced(kind, cast(x, dtype), dims), c.shape)


@rule("max", "min")
def extreme(c: Call) -> Value | tuple[Value, ...]:
    x = c.value(0)
    if c.op.endswith("other"):
        return arithmetic("maximum" if c.name == "max" else "minimum", x, c.value(1), dtype=c.wide)
    if c.op.endswith("default"):
        return reshape(reduced(c.name, x, c.dims(None, len(x.shape))), c.shape)
    return tuple(reshape(v, c.shape) for v in _extreme_with_place(c.name, x, c.dims(c.arg(1), len(x.shape))))


@rule("argmax", "argmin")
def extreme_place(c: Call) -> Value:
    x = c.value(0)
    if c.arg(1) is None:
        x = reshape(x, (x.size,))
    return reshape(_extreme_with_place(c.name[3:], x, c.dims(c.arg(1), len(x.shape)))[1], c.shape)


def _extreme_with_place(kind: str, x: Value, dims: tuple[int, ...]) -> tuple[Value, Value]:
    if not x.shape:
        return x, literal(0, "i64")
    ordered = cast(x, "i64") if x.dtype == "bool" else x
    value, place = fold(f"arg{kind}", ordered, dims, (ordered.dtype, "i64"))
    return cast(value, x.dtype), place


@rule("mean")
def mean(c: Call) -> Value:
    x = cast(c.value(0), wide(c.option("dtype") or c.dtype))
    dims = c.dims(c.arg(1) if not c.op.endswith("default") else None, len(x.shape))
    return reshape(averaged(x, dims), c.shape)


def averaged(x: Value, dims: tuple[int, ...]) -> Value:
    count = product(x.shape[d] for d in dims)
    return reduced("sum", x, dims) / cast(size_value(count), x.dtype)


@rule("var", "std", "var_mean")
def variance(c: Call) -> Value | tuple[Value, ...]:
    x = c.computed(0)
    unbiased = c.arg(2) if isinstance(c.arg(2), bool) else c.arg(1) if isinstance(c.arg(1), bool) else None
    correction = c.option("correction", None if unbiased is None else int(unbiased))
    dims = c.dims(None if isinstance(c.arg(1), bool) else c.arg(1), len(x.shape))
    if any(x.shape[d] == 0 for d in dims):  # nothing has no mean either
        nan = literal(math.nan, x.dtype, c.shape)
        return (nan, nan) if c.name == "var_mean" else nan
    average, squares, count = moments(x, dims)
    correction = 1 if correction is None else correction
    degrees = compute("maximum", count - correction, 0)
    result = squares / degrees
    if c.name == "std":
        return reshape(compute("sqrt", result), c.shape)
    if c.name == "var_mean":
        return reshape(result, c.shape), reshape(average, c.shape)
    return reshape(result, c.shape)


def moments(x: Value, dims: tuple[int, ...], keep: bool = False) -> tuple[Value, Value, Value]:
    """Mean, sum of squared deviations from it, and how many elements these are of."""
    average, squares = fold("moments", x, dims, (x.dtype, x.dtype), keep)
    count = size_value(product(x.shape[d] for d in dims))
    return average, squares, cast(count, x.dtype)


@rule("linalg_vector_norm", "norm")
def vector_norm(c: Call) -> Value:
    x = c.computed(0)
    order = c.arg(1, 2)
    order = 2 if order is None else order
    return reshape(normed(x, order, c.dims(c.arg(2), len(x.shape))), c.shape)


def normed(x: Value, order: float, dims: tuple[int, ...]) -> Value:
    """The vector norm of x over `dims`, which disappear."""
    size = compute("abs", x)
    if order in (math.inf, -math.inf):
        result = reduced("max" if order > 0 else "min", size, dims)
    elif order == 0:
        result = reduced("sum", cast(x.differs(0), x.dtype), dims)
    elif order == 1:
        result = reduced("sum", size, dims)
    else:
        powers = powered(x if order == 2 else size, order, x.dtype)
        result = powered(reduced("sum", powers, dims), 1 / order, x.dtype)
    return result


@rule("_cdist_forward", "cdist")
def distances(c: Call) -> Value:
    """The distance of every row of one tensor to every row of another."""
    left, right, order = c.computed(0), c.computed(1), c.arg(2, 2.0)
    *_, rows, columns = c.shape
    width = left.shape[-1]
    spread = (*c.shape, width)
    one = index(1)
    left = expand(reshape(left, (*left.shape[:-2], rows, one, width)), spread)
    right = expand(reshape(right, (*right.shape[:-2], one, columns, width)), spread)
    apart = left - right
    if order == math.inf:  # PyTorch's largest difference passes over NaNs, its other sums do not
        apart = where(predicate("isnan", apart), 0.0, apart, apart.dtype)
    return normed(apart, order, (len(c.shape),))


@rule("logsumexp")
def logsumexp(c: Call) -> Value:
    x = c.computed(0)
    peak, total = fold("online_softmax", x, c.dims(c.arg(1), len(x.shape)), (x.dtype, x.dtype))
    # An infinite peak is the answer itself, where the sum of differences would be NaN.
    infinite = predicate("isinf", peak)
    finite = peak + compute("log", total)
    return reshape(where(infinite, peak, finite, x.dtype), c.shape)


@rule("_softmax", "_log_softmax", "softmax", "log_softmax")
def softmax(c: Call) -> Value:
    x = c.computed(0)
    if not x.shape:
        x = reshape(x, c.shape)
        zero = x - x
        return zero if "log" in c.name else compute("exp", zero)
    peak, total = fold("online_softmax", x, c.dims(c.arg(1), len(x.shape)), (x.dtype, x.dtype), keep=True)
    shifted = x - peak
    if "log" in c.name:
        return shifted - compute("log", total)
    # The total is at least 1, so that one division a row is as good as one an element.
    share = compute("reciprocal", total)
    return compute("exp", shifted) * share
