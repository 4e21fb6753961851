"""Rules of Cholesky's factors, of triangles, and of what is solved by them, for matrices that are small: a column or a
row in each turn of a loop.

All states of a loop are kept, n + 1 matrices for each of n rows.
"""

from __future__ import annotations

from types import SimpleNamespace

from akg_core.design.graph.rules import Call, rule
from akg_core.design.graph.values import (
    Value,
    broadcast_shape,
    cast,
    comparison,
    compute,
    expand,
    fold,
    literal,
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
    return factor, first_failure(~(diagonal(lower) > 0.0))


def first_failure(failed: Value) -> Value:
    """The number of the first element of the last dim that holds, counted from 1; 0 where none does."""
    some, place = fold("argmax", cast(failed, "i64"), (len(failed.shape) - 1,), ("i64", "i64"))
    return where(some.equals(1), place + 1, 0, "i32")


# --- triangles ------------------------------------------------------------------------------------------


def solved(a: Value, b: Value, upper: bool, unit: bool = False) -> Value:
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
        x = solved(turned(a) if flipped else a, b, upper != flipped, unit)
        return cast(x, c.wide), a
    a, b, upper = c.value(0), c.value(1), bool(c.option("upper"))
    unit = bool(c.option("unitriangular"))
    if c.option("left", True):
        return cast(solved(a, b, upper, unit), c.wide)
    return cast(turned(solved(turned(a), turned(b), not upper, unit)), c.wide)


@rule("cholesky_solve", "_cholesky_solve_helper", "cholesky_inverse")
def cholesky_solve(c: Call) -> Value:
    """With the factor of a matrix: by substitution down, then up."""
    inverse = c.name == "cholesky_inverse"
    factor = c.value(0 if inverse else 1)
    upper = bool(c.arg(1 if inverse else 2, False))
    lower = turned(factor) if upper else factor
    b = eye(factor.shape) if inverse else c.value(0)
    return cast(solved(turned(lower), solved(lower, b, upper=False), upper=True), c.wide)
