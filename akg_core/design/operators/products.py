"""Rules of matrix products; those with a vector become reductions, outer products elementwise work."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from akg_core.design.algebra.index import index
from akg_core.design.graph.casts import uncast
from akg_core.design.graph.rules import Call, rule
from akg_core.design.graph.values import (
    NARROW,
    Literal,
    Pointwise,
    Product,
    Shape,
    Value,
    View,
    cast,
    expand,
    permute,
    reshape,
    wide,
)
from akg_core.design.operators.attention import attention
from akg_core.design.operators.reductions import reduced
from akg_core.dtypes import is_float

_MODEST = 2.0**20  # a factor that stays between this and its inverse may wait until after the product


def matrix_product(left: Value, right: Value, dtype: str) -> Value:
    """left [*batch, M, K] times right [*batch, K, N], in the dtype that sums of `dtype` are made in."""
    total = wide(dtype) if is_float(dtype) else "i64" if dtype == "i64" else "i32"
    (*batch, m, k), n = left.shape, right.shape[-1]
    shape: Shape = (*batch, m, n)
    if k == 1:
        left, right = cast(left, total), cast(right, total)
        return expand(left, shape) * expand(right, shape)
    if n == 1 or m == 1 or k == 0:
        rank = len(shape)
        full: Shape = (*batch, m, n, k)
        rows = expand(reshape(cast(left, total), (*batch, m, index(1), k)), full)
        turned = permute(cast(right, total), (*range(rank - 2), rank - 1, rank - 2))
        columns = expand(reshape(turned, (*batch, index(1), n, k)), full)
        return reduced("sum", rows * columns, (rank,))
    if not is_float(total):
        return Product(*_uncast(left, right, ("i8",)), shape=shape, dtype=total)
    (left, before), (right, after) = _unscaled(left), _unscaled(right)
    if dtype in NARROW:  # what was computed wide is multiplied as eager PyTorch has it
        left, right = cast(left, dtype), cast(right, dtype)
    else:
        left, right = _uncast(left, right)
    result = Product(left, right, shape=shape, dtype=total)
    return result if before * after == 1 else result * (before * after)


def _unscaled(value: Value) -> tuple[Value, float]:
    """`value` without the number that all of it is multiplied by, and that number."""
    match value:
        case View(arg=arg):
            inner, factor = _unscaled(arg)
            return (value, 1.0) if factor == 1 else (replace(value, arg=inner, dtype=inner.dtype, move=None), factor)
        case Pointwise(op="copy", args=(arg,)):
            inner, factor = _unscaled(arg)
            return (value, 1.0) if factor == 1 else (inner, factor)
        case Pointwise(op="*", args=(arg, Literal(number=number))) if 1 / _MODEST <= abs(number) <= _MODEST:
            inner = (
                arg.args[0] if isinstance(arg, Pointwise) and arg.op == "cast" and is_float(arg.args[0].dtype) else arg
            )
            return inner, float(number)
    return value, 1.0


def _uncast(left: Value, right: Value, narrow: Collection[str] = NARROW) -> tuple[Value, Value]:
    """Both factors below casts from one narrow dtype: products of two such numbers are exact in what sums them."""
    inner = uncast(left), uncast(right)
    return inner if inner[0].dtype == inner[1].dtype and inner[0].dtype in narrow else (left, right)


@rule("mm", "bmm", "_int_mm")
def multiply(c: Call) -> Value:
    left, right = c.raw(0), c.raw(1)
    half = uncast(right).dtype in NARROW
    if right.shape[-1].example <= (c.choices.longest_attended_half if half else c.choices.longest_attended):
        found = attention(left, cast(right, c.dtype) if c.dtype in NARROW else right, c.wide)
        if found is not None:
            return found
    return matrix_product(left, right, c.dtype)


@rule("mv")
def matrix_vector(c: Call) -> Value:
    vector = c.raw(1)
    return reshape(matrix_product(c.raw(0), reshape(vector, (*vector.shape, index(1))), c.dtype), c.shape)


@rule("dot", "vdot")
def inner(c: Call) -> Value:
    left, right = c.raw(0), c.raw(1)
    row, column = reshape(left, (index(1), *left.shape)), reshape(right, (*right.shape, index(1)))
    return reshape(matrix_product(row, column, c.dtype), c.shape)


@rule("addmm", "baddbmm", "addbmm")
def multiply_add(c: Call) -> Value:
    left, right = c.raw(1), c.raw(2)
    if c.name == "addbmm":  # summed over matrices, too
        count, rows, inner = left.shape
        left = reshape(permute(left, (1, 0, 2)), (rows, count * inner))
        right = reshape(right, (count * inner, right.shape[2]))
    product = cast(matrix_product(left, right, c.dtype), c.wide)
    beta, alpha = c.option("beta", 1), c.option("alpha", 1)
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product
    return product + (c.computed(0) if beta == 1 else c.computed(0) * beta)


@rule("linear")
def linear(c: Call) -> Value:
    x, weight, bias = c.raw(0), c.raw(1), c.maybe(2)
    rows = x.size.exact(x.shape[-1]) if x.shape[-1] != 0 else index(0)
    flat = reshape(x, (rows if rows is not None else index(1), x.shape[-1]))
    product = reshape(cast(matrix_product(flat, permute(weight, (1, 0)), c.dtype), c.wide), c.shape)
    return product if bias is None else product + bias


@rule("_trilinear")
def trilinear(c: Call) -> Value:
    """The sum over some dims of a product of three tensors, to each of which dims of size 1 are added."""
    product: Value | None = None
    for place in range(3):
        value, shape = c.raw(place), list(c.raw(place).shape)
        for dim in sorted(c.arg(3 + place)):
            shape.insert(dim, index(1))
        value = cast(reshape(value, tuple(shape)), c.wide)
        product = value if product is None else product * value
    assert product is not None
    return reduced("sum", product, tuple(c.arg(6)))
