"""What rules of factorisations have in common: rows, columns and diagonals of matrices, the last two dims of values."""

from __future__ import annotations

from akg_core.design.algebra.index import Index, index
from akg_core.design.graph.rules import Call
from akg_core.design.graph.values import Shape, Value, cast, counting, permute, reshape, view, where
from akg_core.design.operators.reductions import reduced

DTYPE = "f64"
"""What factors are computed in, since what one turn of a loop rounds the next ones go on with."""


def turned(x: Value) -> Value:
    """Matrices with rows as columns."""
    rank = len(x.shape)
    return permute(x, (*range(rank - 2), rank - 1, rank - 2))


def least(c: Call, high: Index, wide: Index) -> Index:
    """The smaller size of a matrix; raises UnsupportedOperator where that depends on how sizes vary."""
    if high == wide:
        return high
    if high.constant is None or wide.constant is None:
        raise c.unsupported("on matrices of which it is not known whether they are high or wide")
    return high if high.constant < wide.constant else wide


def rows(x: Value) -> Value:
    """Matrices [*batch, M, N] as [M, *batch, N]."""
    rank = len(x.shape)
    return permute(x, (rank - 2, *range(rank - 2), rank - 1))


def diagonal(x: Value) -> Value:
    """The numbers whose row and column have one number, [*batch, N]."""
    return view(x, x.shape[:-1], lambda at: (*at, at[-1]))


def numbers(size: Index) -> Value:
    """0 to size - 1."""
    return counting((size,), lambda at: at[0])


def down(vector: Value) -> Value:
    """Vectors [*batch, M] as columns, [*batch, M, 1]."""
    return reshape(vector, (*vector.shape, index(1)))


def across(vector: Value) -> Value:
    """Vectors [*batch, N] as rows, [*batch, 1, N]."""
    return reshape(vector, (*vector.shape[:-1], index(1), vector.shape[-1]))


def choice(condition: Value, yes: Value | float, no: Value | float) -> Value:
    """As `where`, of numbers in DTYPE."""
    return where(condition, yes, no, DTYPE)


def picked(mask: Value, x: Value, dim: int) -> Value:
    """What a mask that holds at one place of a dim picks there."""
    return reduced("sum", choice(mask, x, 0.0), (dim,))


def eye(shape: Shape) -> Value:
    """1 where row and column have one number, else 0."""
    return cast(counting(shape, lambda at: at[-1] - at[-2]).equals(0), DTYPE)
