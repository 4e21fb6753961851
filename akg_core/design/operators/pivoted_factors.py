"""Rules of triangular factors with rows exchanged, A = P L U, and of what is solved, inverted and measured by them, for
matrices that are small: a column a turn of a loop.

`matrix` holds both factors in one, U and what L has below its ones. `pivots`: the row that each turn exchanged its own
with; `order`: the row of A that each row of P^T A is. All states of a loop are kept.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

from akg_core.design.algebra.index import index
from akg_core.design.graph.rules import Call, rule
from akg_core.design.graph.values import (
    Gather,
    Value,
    broadcast_shape,
    cast,
    comparison,
    compute,
    counting,
    expand,
    fold,
    narrow,
    permute,
    reshape,
    view,
    where,
)
from akg_core.design.operators.linear_algebra import first_failure, solved
from akg_core.design.operators.matrices import (
    DTYPE,
    across,
    choice,
    diagonal,
    down,
    eye,
    least,
    numbers,
    picked,
    turned,
)
from akg_core.design.operators.reductions import reduced
from akg_core.design.operators.turns import ended, looped


class _Factors(NamedTuple):
    """`matrix` [*batch, M, N], `pivots` [*batch, min(M, N)] counted from 0, `order` [*batch, M]."""

    matrix: Value
    pivots: Value
    order: Value


def _factored(c: Call, a: Value, pivot: bool = True) -> _Factors:
    """The factors of matrices [*batch, M, N], by columns with the largest element first, as LAPACK's getrf."""
    high, wide = a.shape[-2:]
    turns = least(c, high, wide)

    def turn(t: SimpleNamespace) -> dict[str, Value]:
        row, column = numbers(high), numbers(wide)
        here, above = row.equals(t.number), column.equals(t.number)
        size = choice(row >= t.number, compute("abs", picked(across(above), t.matrix, -1)), -1.0)
        best = fold("argmax", size, (len(size.shape) - 1,), (DTYPE, "i64"))[1]
        best = best if pivot else expand(t.number, best.shape)
        there = row.equals(down(best))
        chosen, own = (picked(down(mask), t.matrix, -2) for mask in (there, here))
        moved = choice(down(here), across(chosen), choice(down(there), across(own), t.matrix))
        below = down(row > t.number)
        left = choice(there, down(picked(above, own, -1)), picked(across(above), t.matrix, -1))  # as rows are moved
        divisor = down(picked(above, chosen, -1))
        share = down(choice(divisor.equals(0.0), left, left / divisor))  # of a column of zeros nothing is divided
        rest = choice(across(column > t.number), moved - share * across(chosen), moved)
        rest = choice(across(above), share, rest)
        return {
            "matrix": choice(below, rest, moved),
            "pivots": where(here, down(best), t.pivots, "i64"),
            "order": _exchange(t.order, here, there),
        }

    counted = counting(a.shape[:-1], lambda at: at[-1])
    initial = {"matrix": cast(a, DTYPE), "pivots": counted, "order": counted}
    states = looped(turns, turn, initial, {"number": numbers(turns)})
    matrix, pivots, order = (ended(states[name]) for name in ("matrix", "pivots", "order"))
    return _Factors(matrix, narrow(pivots, len(pivots.shape) - 1, index(0), turns), order)


def _from_lapack(matrix: Value, pivots: Value) -> _Factors:
    """What LAPACK has factored, whose pivots are counted from 1."""
    rank = len(pivots.shape)
    by_turns = permute(cast(pivots, "i64") - 1, (rank - 1, *range(rank - 1)))

    def turn(t: SimpleNamespace) -> dict[str, Value]:
        row = numbers(matrix.shape[-2])
        return {"order": _exchange(t.order, row.equals(t.number), row.equals(down(t.pivot)))}

    counted = counting((*pivots.shape[:-1], matrix.shape[-2]), lambda at: at[-1])
    steps = pivots.shape[-1]
    states = looped(steps, turn, {"order": counted}, {"number": numbers(steps), "pivot": by_turns})
    return _Factors(cast(matrix, DTYPE), cast(pivots, "i64") - 1, ended(states["order"]))


def _exchange(order: Value, here: Value, there: Value) -> Value:
    """An order with what it holds at two places exchanged."""
    first, second = (down(reduced("sum", where(mask, order, 0, "i64"), (-1,))) for mask in (there, here))
    return where(here, first, where(there, second, order, "i64"), "i64")


def _square(c: Call, a: Value) -> _Factors:
    if a.shape[-1] != a.shape[-2]:
        raise c.unsupported("on matrices that are not square")
    return _factored(c, a)


def _rows_at(b: Value, order: Value) -> Value:
    """The rows of b [*batch, N, M] in an order [*batch, N]."""
    places = expand(down(order), b.shape)
    return Gather(b, (places,), lambda at, found: (*at[:-2], found[0], at[-1]), shape=b.shape, dtype=b.dtype)


def _solved_by(factors: _Factors, b: Value, adjoint: bool = False) -> Value:
    """x of a x = b, or of its transpose, in DTYPE; b [*batch, N, M]."""
    batch = broadcast_shape([factors.matrix.shape[:-2], b.shape[:-2]])
    matrix, b = factors.matrix, expand(cast(b, DTYPE), (*batch, *b.shape[-2:]))
    order = expand(factors.order, (*batch, factors.order.shape[-1]))
    if not adjoint:
        return solved(matrix, solved(matrix, _rows_at(b, order), upper=False, unit=True), upper=True)
    back = solved(turned(matrix), solved(turned(matrix), b, upper=False), upper=True, unit=True)
    place = across(order).equals(down(numbers(order.shape[-1])))
    return _rows_at(back, reduced("sum", where(place, numbers(order.shape[-1]), 0, "i64"), (-1,)))


def _parts(c: Call, factors: _Factors) -> tuple[Value, Value, Value]:
    """P, L and U, each by itself."""
    matrix, order = cast(factors.matrix, c.wide), factors.order
    *batch, high, wide = matrix.shape
    inner = factors.pivots.shape[-1]
    permutation = cast(across(order).equals(down(numbers(high))), c.wide)
    lower = view(matrix, (*batch, high, inner), lambda at: at)
    upper = view(matrix, (*batch, inner, wide), lambda at: at)
    on = cast(eye(lower.shape), c.wide)
    lower = where(comparison(">", down(numbers(high)), across(numbers(inner))), lower, on)
    return permutation, lower, where(comparison("<=", down(numbers(inner)), across(numbers(wide))), upper, 0.0)


def _singular(matrix: Value) -> Value:
    return first_failure(diagonal(matrix).equals(0.0))


def _lapack(pivots: Value) -> Value:
    return cast(pivots, "i32") + 1


@rule("_linalg_solve_ex", "linalg_inv_ex")
def solve(c: Call) -> tuple[Value, ...]:
    """By the factors of the matrix, rows exchanged so that the largest element is divided by."""
    a = c.value(0)
    if c.name == "linalg_inv_ex":
        factors = _square(c, a)
        return cast(_solved_by(factors, eye(a.shape)), c.wide), _singular(factors.matrix)
    b = c.value(1)
    vector = len(b.shape) == 1 or (len(b.shape) == len(a.shape) - 1 and b.shape == a.shape[:-1])
    from_the_right = not c.option("left", True) and not vector
    factors = _square(c, turned(a) if from_the_right else a)
    x = cast(_solved_by(factors, turned(b) if from_the_right else down(b) if vector else b), c.wide)
    x = reshape(x, c.shape) if vector else turned(x) if from_the_right else x
    return x, cast(factors.matrix, c.wide), _lapack(factors.pivots), _singular(factors.matrix)


@rule("_linalg_det", "_linalg_slogdet")
def determinant(c: Call) -> tuple[Value, ...]:
    """The product of what is divided by, its sign turned by every exchange of rows."""
    factors = _square(c, c.value(0))
    pivot = diagonal(factors.matrix)
    moved = factors.pivots.differs(counting(factors.pivots.shape, lambda at: at[-1]))
    signs = choice(moved, -1.0, 1.0)
    rest = cast(factors.matrix, c.wide), _lapack(factors.pivots)
    if c.name == "_linalg_det":
        return cast(reduced("prod", pivot * signs, (-1,)), c.wide), *rest
    sign = reduced("prod", compute("sign", pivot) * signs, (-1,))
    size = reduced("sum", compute("log", compute("abs", pivot)), (-1,))
    return cast(sign, c.wide), cast(size, c.wide), *rest


@rule("linalg_lu_factor_ex", "linalg_lu")
def lu(c: Call) -> tuple[Value, ...]:
    """In one matrix, or P, L and U."""
    factors = _factored(c, c.value(0), bool(c.option("pivot", True)))
    if c.name == "linalg_lu":
        return _parts(c, factors)
    pivot = view(factors.matrix, factors.pivots.shape, lambda at: (*at, at[-1]))
    return cast(factors.matrix, c.wide), _lapack(factors.pivots), first_failure(pivot.equals(0.0))


@rule("lu_unpack")
def lu_unpack(c: Call) -> tuple[Value, ...]:
    """P, L and U of what `lu_factor` gives."""
    if not (c.option("unpack_data", c.arg(2, True)) and c.option("unpack_pivots", c.arg(3, True))):
        raise c.unsupported("for some of the factors alone")
    return _parts(c, _from_lapack(c.value(0), c.raw(1)))


@rule("linalg_lu_solve", "lu_solve")
def lu_solve(c: Call) -> Value:
    """With what `lu_factor` gives: x of a x = b or x a = b, or of the transpose of a."""
    if c.name == "lu_solve":
        b, matrix, pivots = c.value(0), c.value(1), c.raw(2)
    else:
        matrix, pivots, b = c.value(0), c.raw(1), c.value(2)
    adjoint = bool(c.option("adjoint", False))
    if c.option("left", True):
        return cast(_solved_by(_from_lapack(matrix, pivots), b, adjoint), c.wide)
    return cast(turned(_solved_by(_from_lapack(matrix, pivots), turned(b), not adjoint)), c.wide)
