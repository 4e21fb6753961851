"""Rules of factorisations and of what is solved by them, for matrices that are small: a column a turn of a loop.

Matrices are the last two dims. All is computed in f64, since what one turn rounds the next ones go on with; all
states of a loop are kept, n + 1 matrices for each of n rows.
"""

from __future__ import annotations

from types import SimpleNamespace

from akg_core.design.algebra.index import Index, index
from akg_core.design.graph.rules import Call, rule
from akg_core.design.graph.values import (
    Gather,
    Shape,
    Value,
    broadcast_shape,
    cast,
    comparison,
    compute,
    counting,
    expand,
    fold,
    literal,
    permute,
    reshape,
    view,
    where,
)
from akg_core.design.operators.reductions import reduced
from akg_core.design.operators.turns import ended, looped

_DTYPE = "f64"


def _turned(x: Value) -> Value:
    """Matrices with rows as columns."""
    rank = len(x.shape)
    return permute(x, (*range(rank - 2), rank - 1, rank - 2))


def _rows(x: Value) -> Value:
    """Matrices [*batch, M, N] as [M, *batch, N]."""
    rank = len(x.shape)
    return permute(x, (rank - 2, *range(rank - 2), rank - 1))


def _diagonal(x: Value) -> Value:
    return view(x, x.shape[:-1], lambda at: (*at, at[-1]))


def _numbers(size: Index) -> Value:
    return counting((size,), lambda at: at[0])


def _down(vector: Value) -> Value:
    """Vectors [*batch, M] as columns, [*batch, M, 1]."""
    return reshape(vector, (*vector.shape, index(1)))


def _across(vector: Value) -> Value:
    """Vectors [*batch, N] as rows, [*batch, 1, N]."""
    return reshape(vector, (*vector.shape[:-1], index(1), vector.shape[-1]))


def _where(condition: Value, yes: Value | float, no: Value | float) -> Value:
    return where(condition, yes, no, _DTYPE)


def _picked(mask: Value, x: Value, dim: int) -> Value:
    """What a mask that holds at one place of a dim picks there."""
    return reduced("sum", _where(mask, x, 0.0), (dim,))


def _eye(shape: Shape) -> Value:
    return cast(counting(shape, lambda at: at[-1] - at[-2]).equals(0), _DTYPE)


# --- Cholesky -------------------------------------------------------------------------------------------


def _cholesky(a: Value) -> Value:
    """The lower factor of symmetric matrices, of which the lower triangle is read; NaN from where there is none on."""
    n = a.shape[-1]

    def turn(t: SimpleNamespace) -> dict[str, Value]:
        place = _numbers(n)
        here = place.equals(t.number)
        own = _picked(_down(here), t.factor, -2)  # the row that the columns so far have here
        column = t.column - reduced("sum", t.factor * _across(own), (-1,))
        root = compute("sqrt", _picked(here, column, -1))
        new = _where(place >= t.number, column / _down(root), 0.0)
        return {"factor": _where(_across(here), _down(new), t.factor)}

    given = {"column": _rows(_turned(cast(a, _DTYPE))), "number": _numbers(n)}
    zero = literal(0.0, _DTYPE, a.shape)
    return ended(looped(n, turn, {"factor": zero}, given)["factor"])


@rule("linalg_cholesky_ex", "cholesky", "linalg_cholesky")
def cholesky(c: Call) -> Value | tuple[Value, ...]:
    """Of the triangle that is asked for; where there is no factor, the first place of a NaN says so."""
    upper = bool(c.option("upper", c.arg(1, False)))
    a = c.value(0)
    lower = _cholesky(_turned(a) if upper else a)
    factor = cast(_turned(lower) if upper else lower, c.wide)
    if len(c.node.shapes) == 1:
        return factor
    return factor, _first(~(_diagonal(lower) > 0.0))


def _first(failed: Value) -> Value:
    """The number of the first element of the last dim that holds, counted from 1; 0 where none does."""
    some, place = fold("argmax", cast(failed, "i64"), (len(failed.shape) - 1,), ("i64", "i64"))
    return where(some.equals(1), place + 1, 0, "i32")


# --- triangles ------------------------------------------------------------------------------------------


def _solved(a: Value, b: Value, upper: bool, unit: bool = False) -> Value:
    """x of a x = b, a triangle of a [*batch, N, N], b [*batch, N, M]."""
    n = a.shape[-1]
    batch = broadcast_shape([a.shape[:-2], b.shape[:-2]])
    a = cast(expand(a, (*batch, *a.shape[-2:])), _DTYPE)
    b = cast(expand(b, (*batch, *b.shape[-2:])), _DTYPE)

    def turn(t: SimpleNamespace) -> dict[str, Value]:
        place = _numbers(n)
        here = place.equals(t.number)
        known = comparison(">" if upper else "<", place, t.number)
        sums = reduced("sum", _down(_where(known, t.row, 0.0)) * t.x, (-2,))
        new = t.due - sums
        if not unit:
            new = new / _down(_picked(here, t.row, -1))
        return {"x": _where(_down(here), _across(new), t.x)}

    given = {"row": _rows(a), "due": _rows(b), "number": _numbers(n)}
    zero = literal(0.0, _DTYPE, b.shape)
    return ended(looped(n, turn, {"x": zero}, given, reverse=upper)["x"])


@rule("linalg_solve_triangular", "triangular_solve")
def solve_triangular(c: Call) -> Value | tuple[Value, ...]:
    """By substitution, one row a turn."""
    if c.name == "triangular_solve":
        b, a, upper = c.value(0), c.value(1), bool(c.arg(2, True))
        flipped, unit = bool(c.arg(3, False)), bool(c.arg(4, False))
        x = _solved(_turned(a) if flipped else a, b, upper != flipped, unit)
        return cast(x, c.wide), a
    a, b, upper = c.value(0), c.value(1), bool(c.option("upper"))
    unit = bool(c.option("unitriangular"))
    if c.option("left", True):
        return cast(_solved(a, b, upper, unit), c.wide)
    return cast(_turned(_solved(_turned(a), _turned(b), not upper, unit)), c.wide)


@rule("cholesky_solve", "_cholesky_solve_helper", "cholesky_inverse")
def cholesky_solve(c: Call) -> Value:
    """With the factor of a matrix: by substitution down, then up."""
    inverse = c.name == "cholesky_inverse"
    factor = c.value(0 if inverse else 1)
    upper = bool(c.arg(1 if inverse else 2, False))
    lower = _turned(factor) if upper else factor
    b = _eye(factor.shape) if inverse else c.value(0)
    return cast(_solved(_turned(lower), _solved(lower, b, upper=False), upper=True), c.wide)


# --- rows exchanged ---------------------------------------------------------------------------------------


def _factored(a: Value, pivot: bool = True) -> tuple[Value, Value, Value]:
    """Both factors of square matrices in one, the row that each turn exchanged its own with, and their order after all.

    By columns with the largest element first, as LAPACK's getrf.
    """
    n = a.shape[-1]
    rows: Shape = a.shape[:-1]

    def turn(t: SimpleNamespace) -> dict[str, Value]:
        place = _numbers(n)
        here = place.equals(t.number)
        column = _picked(_across(here), t.matrix, -1)
        size = _where(place >= t.number, compute("abs", column), -1.0)
        best = fold("argmax", size, (len(rows) - 1,), (_DTYPE, "i64"))[1]
        best = best if pivot else expand(t.number, best.shape)
        there = place.equals(_down(best))
        chosen, own = (_picked(_down(mask), t.matrix, -2) for mask in (there, here))
        moved = _where(_down(here), _across(chosen), _where(_down(there), _across(own), t.matrix))
        below = _down(place > t.number)
        first = _where(there, _down(_picked(here, own, -1)), column)  # of the rows as they are moved
        share = _down(first) / _down(_down(_picked(here, chosen, -1)))
        left = _where(_across(place > t.number), moved - share * _across(chosen), moved)
        left = _where(_across(here), share, left)
        order = [reduced("sum", where(mask, t.order, 0, "i64"), (-1,)) for mask in (there, here)]
        return {
            "matrix": _where(below, left, moved),
            "pivots": where(here, _down(best), t.pivots, "i64"),
            "order": where(here, _down(order[0]), where(there, _down(order[1]), t.order, "i64"), "i64"),
        }

    counted = counting(rows, lambda at: at[-1])
    initial = {"matrix": cast(a, _DTYPE), "pivots": counted, "order": counted}
    states = looped(n, turn, initial, {"number": _numbers(n)})
    matrix, pivots, order = (ended(states[name]) for name in ("matrix", "pivots", "order"))
    return matrix, pivots, order


def _exchanged(b: Value, order: Value) -> Value:
    """The rows of b [*batch, N, M] in an order [*batch, N]."""
    places = expand(_down(order), b.shape)
    return Gather(b, (places,), lambda at, found: (*at[:-2], found[0], at[-1]), shape=b.shape, dtype=b.dtype)


def _solved_by(factors: Value, order: Value, b: Value) -> Value:
    moved = _exchanged(expand(b, (*order.shape[:-1], *b.shape[-2:])), order)
    return _solved(factors, _solved(factors, moved, upper=False, unit=True), upper=True)


def _singular(factors: Value) -> Value:
    return _first(_diagonal(factors).equals(0.0))


def _lapack(pivots: Value) -> Value:
    return cast(pivots, "i32") + 1


@rule("_linalg_solve_ex", "linalg_inv_ex")
def solve(c: Call) -> tuple[Value, ...]:
    """By the factors of the matrix, rows exchanged so that the largest element is divided by."""
    a = c.value(0)
    factors, pivots, order = _square(c, a)
    if c.name == "linalg_inv_ex":
        return cast(_solved_by(factors, order, _eye(a.shape)), c.wide), _singular(factors)
    b = c.value(1)
    vector = len(b.shape) == 1 or (len(b.shape) == len(a.shape) - 1 and b.shape == a.shape[:-1])
    if not c.option("left", True) and not vector:
        factors, pivots, order = _square(c, _turned(a))
        b = _turned(b)
    x = cast(_solved_by(factors, order, cast(_down(b) if vector else b, _DTYPE)), c.wide)
    x = reshape(x, c.shape) if vector else x if c.option("left", True) else _turned(x)
    return x, cast(factors, c.wide), _lapack(pivots), _singular(factors)


@rule("_linalg_det", "_linalg_slogdet")
def determinant(c: Call) -> tuple[Value, ...]:
    """The product of what is divided by, its sign turned by every exchange of rows."""
    a = c.value(0)
    factors, pivots, _ = _square(c, a)
    diagonal = _diagonal(factors)
    moved = pivots.differs(counting(pivots.shape, lambda at: at[-1]))
    signs = _where(moved, -1.0, 1.0)
    rest = cast(factors, c.wide), _lapack(pivots)
    if c.name == "_linalg_det":
        return cast(reduced("prod", diagonal * signs, (-1,)), c.wide), *rest
    sign = reduced("prod", compute("sign", diagonal) * signs, (-1,))
    size = reduced("sum", compute("log", compute("abs", diagonal)), (-1,))
    return cast(sign, c.wide), cast(size, c.wide), *rest


@rule("linalg_lu_factor_ex")
def lu_factor(c: Call) -> tuple[Value, ...]:
    factors, pivots, _ = _square(c, c.value(0), bool(c.option("pivot", True)))
    return cast(factors, c.wide), _lapack(pivots), _singular(factors)


def _square(c: Call, a: Value, pivot: bool = True) -> tuple[Value, Value, Value]:
    if a.shape[-1] != a.shape[-2]:
        raise c.unsupported("on matrices that are not square")
    return _factored(a, pivot)
