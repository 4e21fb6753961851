"""Rules of singular values, and of eigenvalues of symmetric matrices, for matrices that are small: by plane rotations.

Rows are rotated by twos until all are orthogonal, each pair once a sweep and as many pairs at once as there are
(Hestenes, "Inversion of matrices by biorthogonalization and related results", 1958). The longer row of a pair becomes
the upper one, so that they end in order, and rows of equal length do not hold up others (de Rijk, SIAM J. Sci. Stat.
Comput. 10, 1989). Rows that all are about equally long at first, as those of a matrix with much added to its diagonal,
are ordered once sweeps have told them apart: exchanged earlier, many pairs would not meet in a sweep. How many sweeps
there are is for the slowest spectra that were found, of up to 64 rows that fall to 1e-12, with one to spare.
Signs of vectors are not LAPACK's: what is asked of vectors must not depend on them.

All states of a loop are kept: 3 + 2 log2(N) sweeps of about N matrices of N rows each.
"""

from __future__ import annotations

from types import SimpleNamespace

from akg_core.design.algebra.index import Index, index, product
from akg_core.design.graph.rules import Call, rule
from akg_core.design.graph.values import Value, cast, compute, counting, held, literal, view, where
from akg_core.design.operators.gathers import gathered
from akg_core.design.operators.matrices import DTYPE, choice, down, eye, least, numbers, turned
from akg_core.design.operators.products import matrix_product
from akg_core.design.operators.reductions import reduced
from akg_core.design.operators.turns import ended, looped

VECTORS = {"_linalg_svd": (0, 2), "_linalg_eigh": (1,)}
"""By operator, which of its results are vectors, of which PyTorch has as many as there are signs."""
_SWEEPS, _MORE = 3, 2  # and so many more whenever there are twice as many rows
_TELLING = 3  # of so many sweeps one, at first, tells rows apart
_KEPT = 1 << 28  # numbers of all turns, which take 2 GB
_ROUNDING = 2.0**-53  # of one product in a sum


def _rotated(c: Call, rows: Value, *, alike: bool = False) -> tuple[Value, Value]:
    """Rows [*batch, N, M] rotated to orthogonal ones, the longest first, and the rotation of the old [*batch, N, N].

    `alike`: they are about equally long at first.
    """
    size, width = (rows.shape[dim].constant for dim in (-2, -1))
    if size is None or width is None:
        raise c.unsupported("on matrices whose sizes vary")
    turns, given = _meetings(size)
    if (turns * product(rows.shape)).example > _KEPT:
        raise c.unsupported("on matrices so large, of which each turn of a loop is kept")
    dim, place, rounding = len(rows.shape) - 2, numbers(index(size)), _ROUNDING * max(width, 4)

    def turn(t: SimpleNamespace) -> dict[str, Value]:
        partner = _partner(place, t, size)
        upper, alone = place < partner, place.equals(partner)
        other = gathered(t.rows, dim, partner)
        square = held(reduced("sum", t.rows * t.rows, (-1,)))
        # Two rows must rotate by one angle. They read the same product, for each one's may be rounded otherwise.
        common = gathered(held(reduced("sum", t.rows * other, (-1,))), dim, where(upper, place, partner))
        others = gathered(square, dim, partner)
        swaps = where(upper, square < others, others < square)
        if alike:
            swaps = (t.turn >= _sweeps(size) // _TELLING * _ring(size)) & swaps
        cosine, sine = _angle(square, others, common, upper, swaps, rounding)
        cosine, sine = down(choice(alone, 1.0, cosine)), down(choice(alone, 0.0, sine))
        return {
            "rows": cosine * t.rows - sine * other,
            "rotation": cosine * t.rotation - sine * gathered(t.rotation, dim, partner),
        }

    initial = {"rows": cast(rows, DTYPE), "rotation": eye((*rows.shape[:-1], index(size)))}
    states = looped(turns, turn, initial, given)
    rows, rotation = ended(states["rows"]), ended(states["rotation"])
    length = down(held(compute("sqrt", reduced("sum", rotation * rotation, (-1,)))))  # 1, but for how all turns rounded
    return rows / length, rotation / length


def _scaled(a: Value) -> tuple[Value, Value]:
    """Matrices [*batch, M, N] whose squares neither overflow nor vanish, and what each was divided by [*batch, 1]."""
    largest = reduced("max", reduced("max", compute("abs", cast(a, DTYPE)), (-1,)), (-1,), keep=True)
    size = held(choice(largest > 0.0, largest, 1.0))
    return cast(a, DTYPE) / down(size), size


def _ring(size: int) -> int:
    """How many of so many rows sit in a ring: all, or all but the last of an even number."""
    return size - 1 + size % 2


def _sweeps(size: int) -> int:
    return _SWEEPS + _MORE * (size - 1).bit_length()


def _meetings(size: int) -> tuple[Index, dict[str, Value]]:
    """How many turns there are for so many rows; and of each its number, what the numbers of two that meet sum up to,
    and which one meets the last, or nobody: as in a tournament."""
    ring = _ring(size)
    turns = index(ring * _sweeps(size))
    return turns, {
        "turn": numbers(turns),
        "meet": counting((turns,), lambda at: at[0] % ring),
        "odd": counting((turns,), lambda at: at[0] * ((ring + 1) // 2) % ring),
    }


def _partner(place: Value, t: SimpleNamespace, size: int) -> Value:
    """The number of the row that each one meets, its own for one that meets nobody."""
    ring = _ring(size)
    across = t.meet - place
    across = where(across < 0, across + ring, across)
    if size % 2:
        return across
    last = literal(size - 1, "i64")
    return where(place.equals(size - 1), t.odd, where(place.equals(t.odd), last, across))


def _angle(
    square: Value, others: Value, common: Value, upper: Value, swaps: Value, rounding: float
) -> tuple[Value, Value]:
    """Cosine and sine by which rows turn from their partners, of their squares, and of their product with these; and by
    a right angle more where the partners swap."""
    done = compute("abs", common) <= rounding * compute("sqrt", square * others)
    side = choice(upper, 1.0, -1.0)
    slope = (others - square) / (2.0 * choice(done, 1.0, common))
    tangent = _sign(slope, side) / (compute("abs", slope) + compute("sqrt", slope * slope + 1.0))
    tangent = choice(done, 0.0, tangent)
    cosine = 1.0 / compute("sqrt", tangent * tangent + 1.0)
    sine = choice(swaps, -(_sign(tangent, side) * cosine), tangent * cosine)
    return choice(swaps, compute("abs", tangent) * cosine, cosine), sine


def _sign(x: Value, of_zero: Value) -> Value:
    return choice(x > 0.0, 1.0, choice(x < 0.0, -1.0, of_zero))


@rule("_linalg_svd")
def svd(c: Call) -> tuple[Value, ...]:
    """Of a rank that is not full, vectors of singular values that are zero are what rounding leaves."""
    a, size = _scaled(c.value(0))
    high, wide = a.shape[-2:]
    vectors = bool(c.option("compute_uv", c.arg(2, True)))
    if vectors and bool(c.option("full_matrices", c.arg(1, False))) and high != wide:
        raise c.unsupported("with full_matrices, of matrices that are not square")
    flipped = high != wide and least(c, high, wide) == high
    rows, rotation = _rotated(c, a if flipped else turned(a))
    values = held(compute("sqrt", reduced("sum", rows * rows, (-1,))))
    unit = rows / down(choice(values.equals(0.0), 1.0, values))
    left, right = (turned(rotation), unit) if flipped else (turned(unit), rotation)
    return tuple(cast(each, c.wide) for each in (left, values * size, right))


@rule("_linalg_eigh")
def eigh(c: Call) -> tuple[Value, ...]:
    """Of the triangle that is asked for, made positive first by what is added to its diagonal.

    Values are Rayleigh quotients of the vectors, in which what was added costs no digits.
    """
    a, triangle = cast(c.value(0), DTYPE), str(c.option("UPLO", c.arg(1, "L"))).upper()
    below = counting(a.shape, lambda at: at[-2] - at[-1])
    a, size = _scaled(where(below >= 0 if triangle == "L" else below <= 0, a, turned(a)))
    added = held(reduced("max", reduced("sum", compute("abs", a), (-1,)), (-1,), keep=True))
    _, rotation = _rotated(c, a + eye(a.shape) * down(added), alike=True)
    values = reduced("sum", matrix_product(rotation, a, DTYPE) * rotation, (-1,)) * size
    last = a.shape[-1] - 1
    values = view(values, values.shape, lambda at: (*at[:-1], last - at[-1]))
    vectors = view(rotation, rotation.shape, lambda at: (*at[:-2], last - at[-1], at[-2]))
    return cast(values, c.wide), cast(vectors, c.wide)
