"""Rules of orthogonal factors: reflections, of which each clears what is below the diagonal in a column.

As LAPACK's geqrf they are kept as vectors v, below the diagonal of the factor, and numbers tau: each is I - tau v v'.
"""

from __future__ import annotations

from types import SimpleNamespace

from akg_core.design.algebra.index import Index
from akg_core.design.graph.rules import Call, rule
from akg_core.design.graph.values import Shape, Value, broadcast_shape, cast, compute, counting, expand, literal, view
from akg_core.design.operators.matrices import (
    DTYPE,
    across,
    choice,
    down,
    eye,
    least,
    numbers,
    picked,
    rows,
    turned,
)
from akg_core.design.operators.reductions import reduced
from akg_core.design.operators.turns import ended, looped


def _reflections(c: Call, a: Value) -> tuple[Value, Value, Index]:
    """Of a [*batch, M, N] both factors in one, [*batch, M, N], the factors tau [*batch, K], and K: the least size."""
    high, wide = a.shape[-2:]
    count = least(c, high, wide)

    def turn(t: SimpleNamespace) -> dict[str, Value]:
        row, column = numbers(high), numbers(wide)
        here, below, touched = row.equals(t.number), row > t.number, row >= t.number
        x = picked(across(column.equals(t.number)), t.matrix, -1)
        first = picked(here, x, -1)
        rest = reduced("sum", choice(below, x * x, 0.0), (-1,))
        size = compute("sqrt", first * first + rest)
        clear = rest.equals(0.0)
        new = choice(clear, first, choice(first >= 0.0, -size, size))
        tau = choice(clear, 0.0, (new - first) / choice(clear, 1.0, new))
        v = choice(here, 1.0, x / down(choice(clear, 1.0, first - new)))
        moved = _reflected(t.matrix, v, tau, touched)
        cleared = choice(down(below), down(v), choice(down(here), down(down(new)), t.matrix))
        after = choice(across(column > t.number), moved, t.matrix)
        return {
            "matrix": choice(across(column.equals(t.number)), cleared, after),
            "tau": choice(numbers(count).equals(t.number), down(tau), t.tau),
        }

    initial = {"matrix": cast(a, DTYPE), "tau": literal(0.0, DTYPE, (*a.shape[:-2], count))}
    states = looped(count, turn, initial, {"number": numbers(count)})
    return ended(states["matrix"]), ended(states["tau"]), count


def _reflected(x: Value, v: Value, tau: Value, touched: Value) -> Value:
    """x [*batch, M, N] reflected, less tau v v' x, in the rows that are touched: v is zero in others, whatever x is."""
    along = reduced("sum", choice(down(touched), down(v) * x, 0.0), (-2,))
    return choice(down(touched), x - down(v) * across(along * down(tau)), x)


def _made(packed: Value, tau: Value, high: Index) -> Value:
    """The first columns of the product of reflections, the first one first."""
    return _applied(packed, tau, eye((*packed.shape[:-1], high)), is_eye=True)


def _applied(packed: Value, tau: Value, x: Value, is_transposed: bool = False, is_eye: bool = False) -> Value:
    """The product of reflections, the first one first, and x [*batch, M, N]; or that of the product transposed.

    `is_eye`: of x. A reflection leaves the columns before its own as they are, and makes its own without a look at any.
    """
    count, high = tau.shape[-1], packed.shape[-2]

    def turn(t: SimpleNamespace) -> dict[str, Value]:
        row, here = numbers(high), numbers(high).equals(t.number)
        v, touched = choice(here, 1.0, t.column), row >= t.number
        moved = _reflected(t.x, v, t.tau, touched)
        if is_eye:
            column = numbers(x.shape[-1])
            made = choice(touched, choice(here, 1.0, 0.0) - v * down(t.tau), 0.0)
            own = across(column.equals(t.number))
            moved = choice(own, down(made), choice(across(column > t.number), moved, t.x))
        return {"x": moved}

    batch = broadcast_shape([packed.shape[:-2], x.shape[:-2]])
    columns = rows(turned(cast(_first(packed, count), DTYPE)))
    given = {"column": columns, "tau": _front(cast(tau, DTYPE)), "number": numbers(count)}
    initial = {"x": cast(expand(x, (*batch, *x.shape[-2:])), DTYPE)}
    return ended(looped(count, turn, initial, given, reverse=not is_transposed)["x"])


def _first(x: Value, count: Index) -> Value:
    """The first columns."""
    return view(x, (*x.shape[:-1], count), lambda at: at)


def _front(x: Value) -> Value:
    """Vectors [*batch, K] as [K, *batch]."""
    return view(x, (x.shape[-1], *x.shape[:-1]), lambda at: (*at[1:], at[0]))


def _upper(packed: Value, high: Index) -> Value:
    """The first rows, with zeros below the diagonal."""
    shape: Shape = (*packed.shape[:-2], high, packed.shape[-1])
    return choice(counting(shape, lambda at: at[-1] - at[-2]) >= 0, view(packed, shape, lambda at: at), 0.0)


@rule("geqrf")
def geqrf(c: Call) -> tuple[Value, ...]:
    packed, tau, _ = _reflections(c, c.value(0))
    return cast(packed, c.wide), cast(tau, c.wide)


@rule("linalg_qr")
def qr(c: Call) -> tuple[Value, ...]:
    """By Householder's reflections; the signs are LAPACK's."""
    a, mode = c.value(0), c.option("mode", c.arg(1, "reduced"))
    packed, tau, count = _reflections(c, a)
    high = a.shape[-2] if mode == "complete" else count
    upper = cast(_upper(packed, high), c.wide)
    if mode == "r":
        return literal(0.0, c.wide, c.shape), upper
    return cast(_made(packed, tau, high), c.wide), upper


@rule("linalg_householder_product", "orgqr")
def householder_product(c: Call) -> Value:
    """The first columns of a product of reflections."""
    packed = c.value(0)
    return cast(_made(packed, c.value(1), packed.shape[-1]), c.wide)


@rule("ormqr")
def ormqr(c: Call) -> Value:
    """A product of reflections with a matrix on its right or its left."""
    packed, tau, x = (c.value(n) for n in range(3))
    is_left, is_transposed = c.option("left", c.arg(3, True)), c.option("transpose", c.arg(4, False))
    if is_left:
        return cast(_applied(packed, tau, x, is_transposed), c.wide)
    return cast(turned(_applied(packed, tau, turned(x), not is_transposed)), c.wide)
