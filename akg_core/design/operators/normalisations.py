"""Rules of normalisations: mean and squared deviations as one stable reduction, then one elementwise expression."""

from __future__ import annotations

from akg_core.design.algebra.index import index
from akg_core.design.graph.rules import Call, rule, rules
from akg_core.design.graph.values import Shape, Value, cast, compute, expand, reshape
from akg_core.design.operators.reductions import averaged, moments


def _inverse_deviation(squares: Value, count: Value, epsilon: float) -> Value:
    return compute("rsqrt", squares / count + epsilon)


def _normalised(x: Value, mean: Value, inverse: Value, weight: Value | None, bias: Value | None) -> Value:
    """(x - mean) * inverse * weight + bias, all broadcast to x."""
    result = (x - expand(mean, x.shape)) * expand(inverse, x.shape)
    if weight is not None:
        result = result * expand(cast(weight, x.dtype), x.shape)
    return result if bias is None else result + expand(cast(bias, x.dtype), x.shape)


def _normalised_channels(c: Call, mean: Value, inverse: Value) -> Value:
    """The first argument [N, C, *rest] normalised by vectors over C; weight and bias are arguments 1 and 2."""
    x, weight, bias = c.value(0), c.maybe(1), c.maybe(2)

    def across(vector: Value) -> Value:
        return reshape(vector, tuple(vector.shape[0] if d == 1 else index(1) for d in range(len(x.shape))))

    weight, bias = (None if vector is None else across(vector) for vector in (weight, bias))
    return _normalised(x, across(mean), across(inverse), weight, bias)


@rule("native_layer_norm")
def layer_norm(c: Call) -> tuple[Value, ...]:
    x = c.value(0)
    rank, trailing = len(x.shape), len(c.arg(1))
    mean, squares, count = moments(x, tuple(range(rank - trailing, rank)), keep=True)
    inverse = _inverse_deviation(squares, count, c.arg(4))
    return _normalised(x, mean, inverse, c.maybe(2), c.maybe(3)), mean, inverse


@rule("_fused_rms_norm")
def rms_norm(c: Call) -> tuple[Value, ...]:
    x = c.value(0)
    rank, trailing = len(x.shape), len(c.arg(1))
    epsilon = c.arg(3)
    epsilon = {"f64": 2.0**-52}.get(x.dtype, 2.0**-23) if epsilon is None else epsilon
    dims = tuple(range(rank - trailing, rank))
    kept = tuple(index(1) if d in dims else s for d, s in enumerate(x.shape))
    power = reshape(averaged(x * x, dims), kept)
    inverse = compute("rsqrt", power + epsilon)
    result = x * expand(inverse, x.shape)
    weight = c.maybe(2)
    return result if weight is None else result * expand(weight, x.shape), inverse


@rule("native_group_norm")
def group_norm(c: Call) -> tuple[Value, ...]:
    x, groups, epsilon = c.value(0), index(c.arg(6)), c.arg(7)
    batch, channels, area = (c.size(c.arg(d)) for d in (3, 4, 5))
    grouped: Shape = (batch, groups, channels // groups, area)
    folded = reshape(x, grouped)
    mean, squares, count = moments(folded, (2, 3), keep=True)
    inverse = _inverse_deviation(squares, count, epsilon)
    affine: Shape = (groups, channels // groups, index(1))
    weight, bias = (None if v is None else reshape(v, affine) for v in (c.maybe(1), c.maybe(2)))
    result = reshape(_normalised(folded, mean, inverse, weight, bias), x.shape)
    return result, reshape(mean, (batch, groups)), reshape(inverse, (batch, groups))


def _batch_norm(
    c: Call, running: tuple[Value | None, Value | None], live: bool, momentum: float, epsilon: float
) -> tuple[Value, ...]:
    """By statistics that were learned, or that of the batch are: then running ones move towards these, the variance by
    its unbiased estimate."""
    x = c.value(0)
    if not live:
        mean, variance = running
        assert mean is not None and variance is not None
        inverse = compute("rsqrt", cast(variance, x.dtype) + epsilon)
        return _normalised_channels(c, cast(mean, x.dtype), inverse), cast(mean, x.dtype), inverse, mean, variance
    mean, squares, count = moments(x, tuple(d for d in range(len(x.shape)) if d != 1))
    inverse = _inverse_deviation(squares, count, epsilon)
    news = zip(running, (mean, squares / (count - 1)), strict=True)
    updated = (cast(old, x.dtype) * (1 - momentum) + new * momentum for old, new in news if old is not None)
    return _normalised_channels(c, mean, inverse), mean, inverse, *updated


rules(
    {
        "_native_batch_norm_legit_functional _native_batch_norm_legit.default native_batch_norm": lambda c: _batch_norm(
            c, (c.maybe(3), c.maybe(4)), c.arg(5), c.arg(6), c.arg(7)
        ),
        "_native_batch_norm_legit.no_stats": lambda c: _batch_norm(c, (None, None), True, c.arg(4), c.arg(5)),
        "_native_batch_norm_legit_no_training": lambda c: _batch_norm(
            c, (c.maybe(3), c.maybe(4)), False, 0.0, c.arg(6)
        ),
    }
)
