"""Rules of factorisations and of what is solved by them, for matrices that are small: a column a turn of a loop.

All states of a loop are kept, n + 1 matrices for each of n rows.
"""

from __future__ import annotations

from types import SimpleNamespace

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
    reshape,
    where,
)
from akg_core.design.operators.matrices import (
    DTYPE,
    across,
    choice,
    diagonal,
    down,
    eye,
    numbers,
    picked,
    rows,
    turned,
)
from akg_core.design.operators.reductions import reduced
from akg_core.design.operators.turns import ended, looped

# --- Cholesky -------------------------------------------------------------------------------------------


def _cholesky(a: Value) -> Value:
    """The lower factor of symmetric matrices, of which the lower triangle is read; NaN from where there is none on."""
    n = a.shape[-1]

    def turn(t: SimpleNamespace) -> dict[str, Value]:
        place = numbers(n)
        here = place.equals(t.number)
        own = picked(down(here), t.factor, -2)  # the row that the columns so far have here
        column = t.column - reduced("sum", t.factor * across(own), (-1,))
        root = compute("sqrt", picked(here, column, -1))
        new = choice(place >= t.number, column / down(root), 0.0)
        return {"factor": choice(across(here), down(new), t.factor)}

    given = {"column": rows(turned(cast(a, DTYPE))), "number": numbers(n)}
    zero = literal(0.0, DTYPE, a.shape)
    return ended(looped(n, turn, {"factor": zero}, given)["factor"])


@rule("linalg_cholesky_ex", "cholesky", "linalg_cholesky")
def cholesky(c: Call) -> Value | tuple[Value, ...]:
    """Of the triangle that is asked for; where there is no factor, the first place of a NaN says so."""
    upper = bool(c.option("upper", c.arg(1, False)))
    a = c.value(0)
    lower = _cholesky(turned(a) if upper else a)
    factor = cast(turned(lower) if upper else lower, c.wide)
    if len(c.node.shapes) == 1:
        return factor
    return factor, _first(~(diagonal(lower) > 0.0))


def _first(failed: Value) -> Value:
    """The number of the first element of the last dim that holds, counted from 1; 0 where none does."""
    some, place = fold("argmax", cast(failed, "i64"), (len(failed.shape) - 1,), ("i64", "i64"))
    return where(some.equals(1), place + 1, 0, "i32")


# --- triangles ------------------------------------------------------------------------------------------


def _solved(a: Value, b: Value, upper: bool, unit: bool = False) -> Value:
    """x of a x = b, a triangle of a [*batch, N, N], b [*batch, N, M]."""
    n = a.shape[-1]
    batch = broadcast_shape([a.shape[:-2], b.shape[:-2]])
    a = cast(expand(a, (*batch, *a.shape[-2:])), DTYPE)
    b = cast(expand(b, (*batch, *b.shape[-2:])), DTYPE)

    def turn(t: SimpleNamespace) -> dict[str, Value]:
        place = numbers(n)
        here = place.equals(t.number)
        known = comparison(">" if upper else "<", place, t.number)
        sums = reduced("sum", down(choice(known, t.row, 0.0)) * t.x, (-2,))
        new = t.due - sums
        if not unit:
            new = new / down(picked(here, t.row, -1))
        return {"x": choice(down(here), across(new), t.x)}

    given = {"row": rows(a), "due": rows(b), "number": numbers(n)}
    zero = literal(0.0, DTYPE, b.shape)
    return ended(looped(n, turn, {"x": zero}, given, reverse=upper)["x"])


@rule("linalg_solve_triangular", "triangular_solve")
def solve_triangular(c: Call) -> Value | tuple[Value, ...]:
    """By substitution, one row a turn."""
    if c.name == "triangular_solve":
        b, a, upper = c.value(0), c.value(1), bool(c.arg(2, True))
        flipped, unit = bool(c.arg(3, False)), bool(c.arg(4, False))
        x = _solved(turned(a) if flipped else a, b, upper != flipped, unit)
        return cast(x, c.wide), a
    a, b, upper = c.value(0), c.value(1), bool(c.option("upper"))
    unit = bool(c.option("unitriangular"))
    if c.option("left", True):
        return cast(_solved(a, b, upper, unit), c.wide)
    return cast(turned(_solved(turned(a), turned(b), not upper, unit)), c.wide)


@rule("cholesky_solve", "_cholesky_solve_helper", "cholesky_inverse")
def cholesky_solve(c: Call) -> Value:
    """With the factor of a matrix: by substitution down, then up."""
    inverse = c.name == "cholesky_inverse"
    factor = c.value(0 if inverse else 1)
    upper = bool(c.arg(1 if inverse else 2, False))
    lower = turned(factor) if upper else factor
    b = eye(factor.shape) if inverse else c.value(0)
    return cast(_solved(turned(lower), _solved(lower, b, upper=False), upper=True), c.wide)


# --- rows exchanged ---------------------------------------------------------------------------------------


def _factored(a: Value, pivot: bool = True) -> tuple[Value, Value, Value]:
    """Both factors of square matrices in one, the row that each turn exchanged its own with, and their order after all.

    By columns with the largest element first, as LAPACK's getrf.
    """
    n = a.shape[-1]
    places: Shape = a.shape[:-1]

    def turn(t: SimpleNamespace) -> dict[str, Value]:
        place = numbers(n)
        here = place.equals(t.number)
        column = picked(across(here), t.matrix, -1)
        size = choice(place >= t.number, compute("abs", column), -1.0)
        best = fold("argmax", size, (len(places) - 1,), (DTYPE, "i64"))[1]
        best = best if pivot else expand(t.number, best.shape)
        there = place.equals(down(best))
        chosen, own = (picked(down(mask), t.matrix, -2) for mask in (there, here))
        moved = choice(down(here), across(chosen), choice(down(there), across(own), t.matrix))
        below = down(place > t.number)
        first = choice(there, down(picked(here, own, -1)), column)  # of the rows as they are moved
        share = down(first) / down(down(picked(here, chosen, -1)))
        left = choice(across(place > t.number), moved - share * across(chosen), moved)
        left = choice(across(here), share, left)
        order = [reduced("sum", where(mask, t.order, 0, "i64"), (-1,)) for mask in (there, here)]
        return {
            "matrix": choice(below, left, moved),
            "pivots": where(here, down(best), t.pivots, "i64"),
            "order": where(here, down(order[0]), where(there, down(order[1]), t.order, "i64"), "i64"),
        }

    counted = counting(places, lambda at: at[-1])
    initial = {"matrix": cast(a, DTYPE), "pivots": counted, "order": counted}
    states = looped(n, turn, initial, {"number": numbers(n)})
    matrix, pivots, order = (ended(states[name]) for name in ("matrix", "pivots", "order"))
    return matrix, pivots, order


def _exchanged(b: Value, order: Value) -> Value:
    """The rows of b [*batch, N, M] in an order [*batch, N]."""
    places = expand(down(order), b.shape)
    return Gather(b, (places,), lambda at, found: (*at[:-2], found[0], at[-1]), shape=b.shape, dtype=b.dtype)


def _solved_by(factors: Value, order: Value, b: Value) -> Value:
    moved = _exchanged(expand(b, (*order.shape[:-1], *b.shape[-2:])), order)
    return _solved(factors, _solved(factors, moved, upper=False, unit=True), upper=True)


def _singular(factors: Value) -> Value:
    return _first(diagonal(factors).equals(0.0))


def _lapack(pivots: Value) -> Value:
    return cast(pivots, "i32") + 1


@rule("_linalg_solve_ex", "linalg_inv_ex")
def solve(c: Call) -> tuple[Value, ...]:
    """By the factors of the matrix, rows exchanged so that the largest element is divided by."""
    a = c.value(0)
    factors, pivots, order = _square(c, a)
    if c.name == "linalg_inv_ex":
        return cast(_solved_by(factors, order, eye(a.shape)), c.wide), _singular(factors)
    b = c.value(1)
    vector = len(b.shape) == 1 or (len(b.shape) == len(a.shape) - 1 and b.shape == a.shape[:-1])
    if not c.option("left", True) and not vector:
        factors, pivots, order = _square(c, turned(a))
        b = turned(b)
    x = cast(_solved_by(factors, order, cast(down(b) if vector else b, DTYPE)), c.wide)
    x = reshape(x, c.shape) if vector else x if c.option("left", True) else turned(x)
    return x, cast(factors, c.wide), _lapack(pivots), _singular(factors)


@rule("_linalg_det", "_linalg_slogdet")
def determinant(c: Call) -> tuple[Value, ...]:
    """The product of what is divided by, its sign turned by every exchange of rows."""
    a = c.value(0)
    factors, pivots, _ = _square(c, a)
    pivot = diagonal(factors)
    moved = pivots.differs(counting(pivots.shape, lambda at: at[-1]))
    signs = choice(moved, -1.0, 1.0)
    rest = cast(factors, c.wide), _lapack(pivots)
    if c.name == "_linalg_det":
        return cast(reduced("prod", pivot * signs, (-1,)), c.wide), *rest
    sign = reduced("prod", compute("sign", pivot) * signs, (-1,))
    size = reduced("sum", compute("log", compute("abs", pivot)), (-1,))
    return cast(sign, c.wide), cast(size, c.wide), *rest


@rule("linalg_lu_factor_ex")
def lu_factor(c: Call) -> tuple[Value, ...]:
    factors, pivots, _ = _square(c, c.value(0), bool(c.option("pivot", True)))
    return cast(factors, c.wide), _lapack(pivots), _singular(factors)


def _square(c: Call, a: Value, pivot: bool = True) -> tuple[Value, Value, Value]:
    if a.shape[-1] != a.shape[-2]:
        raise c.unsupported("on matrices that are not square")
    return _factored(a, pivot)
