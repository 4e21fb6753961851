"""Index arithmetic as polynomials, and proofs that an index stays in its tensor.

A polynomial maps a product of atoms to its integer factor; atoms are names (axes, dimensions, scalars) and whatever
is not a sum or a product (`p % 7`, `p // W`, a loaded index). So `m*N + n` tells that it steps by `N` along `m`
and by 1 along `n`, and two spellings of one extent compare equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from akg_core import polynomial as ring
from akg_core.sketch.ast import Binary, Expr, Name, Number, Type, Unary
from akg_core.sketch.ranges import Interval, Ranges, Reals
from akg_core.sketch.show import show_expression

INDEX = Type(dtype="i64")
NARROW = 2**31 - 2**22  # less than this fits in 32 bits, with what lanes that do not exist may add


class Polynomial(ring.Polynomial[Expr]):
    """An index of a sketch as a polynomial over its expressions."""

    __slots__ = ()

    @staticmethod
    def key(atom: Expr) -> tuple[bool, str]:
        return _order(atom)

    def atoms(self) -> set[Expr]:
        return {atom for product, _ in self.terms for atom in product}

    def __add__(self, other: Polynomial) -> Polynomial:
        return self.plus(other)

    def __mul__(self, other: Polynomial) -> Polynomial:
        return self.times(other)


@lru_cache(maxsize=65536)
def _order(atom: Expr) -> tuple[bool, str]:
    """Names come last. By what makes atoms equal alone: not by their lines or types, which the cache does not tell."""
    return isinstance(atom, Name), show_expression(atom)


@lru_cache(maxsize=4096)
def number(value: int) -> Polynomial:
    return Polynomial((((), value),) if value else ())


@lru_cache(maxsize=65536)
def polynomial(expr: Expr) -> Polynomial:
    """`expr`, an integer expression, as a polynomial, with `x // d * d + x % d` put together again."""
    return recombine(_polynomial(expr))


def _polynomial(expr: Expr) -> Polynomial:
    if isinstance(expr, Number) and isinstance(expr.value, int):
        return number(int(expr.value))
    if isinstance(expr, Unary) and expr.op == "-":
        return -polynomial(expr.operand)
    if isinstance(expr, Binary) and expr.op in ("+", "-", "*"):
        left, right = polynomial(expr.left), polynomial(expr.right)
        return left * right if expr.op == "*" else left + (right if expr.op == "+" else -right)
    return Polynomial([((expr,), 1)])


def recombine(p: Polynomial) -> Polynomial:
    """`p` with every `x // d * d + x % d` replaced by `x`."""
    whole = p.recombined(_parts)
    return p if whole is None else recombine(whole)


def _parts(atom: Expr) -> tuple[Polynomial, Polynomial, Expr] | None:
    """(x, d, x // d) where an atom is x % d."""
    if not (isinstance(atom, Binary) and atom.op == "%"):
        return None
    return polynomial(atom.left), polynomial(atom.right), Binary("//", atom.left, atom.right, type=INDEX)


def digits(index: Expr, sizes: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """`split(index, sizes)` as expressions: the most significant digit first, unbounded."""
    found: list[Expr] = []
    for size in reversed(sizes[1:]):
        found.append(Binary("%", index, size, type=INDEX))
        index = Binary("//", index, size, type=INDEX)
    return index, *reversed(found)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What index proofs go by.

    `extents` of axes by name, `counters` of range loops (first value, one past the greatest), the names of
    `dimensions`, which are never negative, and the `formulas` of values that are assigned once. Who adds an axis or a
    value to a kernel adds what is known of it here.
    """

    extents: dict[str, Expr]
    counters: dict[str, tuple[Expr, Expr]]
    dimensions: frozenset[str]
    formulas: dict[str, Expr] = field(default_factory=dict)

    def interval(self, expr: Expr) -> Interval:
        """The least and greatest value of an index expression; None where that is not known."""
        return Ranges(self.extents, self.counters, self.dimensions, self.formulas).interval(expr)

    def real(self, expr: Expr) -> Reals | None:
        """What an expression of f32 or f64 lies within, rounding included; None where that is not known."""
        return Ranges(self.extents, self.counters, self.dimensions, self.formulas).real(expr)

    def fits_i32(self, expr: Expr) -> bool:
        """Whether index arithmetic stays within 32 bits for certain, lanes beyond the last position included."""
        low, high = self.interval(expr)
        return low is not None and high is not None and low > -NARROW and high < NARROW

    def within(self, expr: Expr, size: Expr) -> bool:
        """Whether 0 <= expr < size is certain."""
        low, high = self.interval(expr)
        if low is None or low < 0:
            return False
        least = self.interval(size)[0]
        if high is not None and least is not None and high < least:
            return True
        limit = self._limit(expr)
        return limit is not None and limit == polynomial(size)

    def unproved(self, expr: Expr, size: Expr) -> tuple[bool, bool]:
        """Which of 0 <= expr and expr < size is not certain."""
        if self.within(expr, size):
            return False, False
        low, high = self.interval(expr)
        least = self.interval(size)[0]
        return low is None or low < 0, high is None or least is None or high >= least

    def at_most(self, expr: Expr, size: Expr) -> bool:
        """Whether expr <= size is certain."""
        return self.within(expr, Binary("+", size, Number(1), type=INDEX))

    def _limit(self, expr: Expr) -> Polynomial | None:
        """A polynomial that `expr` stays under, for sizes that are names."""
        if isinstance(expr, Name) and expr.id in self.extents:
            return polynomial(self.extents[expr.id])
        if isinstance(expr, Name) and expr.id in self.counters:
            return polynomial(self.counters[expr.id][1])
        if isinstance(expr, Binary) and expr.op == "%":
            return polynomial(expr.right)
        if isinstance(expr, Binary) and expr.op == "//":
            limit = self._limit(expr.left)
            return None if limit is None else limit.exact(polynomial(expr.right))
        if isinstance(expr, Binary) and expr.op == "+":
            for high, low in ((expr.left, expr.right), (expr.right, expr.left)):
                if isinstance(high, Binary) and high.op == "*":
                    for x, radix in ((high.left, high.right), (high.right, high.left)):
                        limit = self._limit(x)
                        if limit is not None and self._limit(low) == polynomial(radix):
                            return limit * polynomial(radix)
        return None
