"""Index arithmetic as polynomials, and proofs that an index stays in its tensor.

A polynomial maps a product of atoms to its integer factor; atoms are names (axes, dimensions, scalars) and whatever
is not a sum or a product (`p % 7`, `p // W`, a loaded index). So `m*N + n` tells that it steps by `N` along `m`
and by 1 along `n`, and two spellings of one extent compare equal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from akg_core import polynomial as ring
from akg_core.sketch.ast import Binary, Call, Expr, Name, Number, Text, Type, Unary
from akg_core.sketch.dtypes import is_float

INDEX = Type(dtype="i64")
NARROW = 2**31 - 2**22  # less than this fits in 32 bits, with what lanes that do not exist may add


class Polynomial(ring.Polynomial[Expr]):
    """An index of a sketch as a polynomial over its expressions."""

    __slots__ = ()

    @staticmethod
    def key(atom: Expr) -> str:
        return _order(atom)

    def atoms(self) -> set[Expr]:
        return {atom for product, _ in self.terms for atom in product}

    def __add__(self, other: Polynomial) -> Polynomial:
        return self.plus(other)

    def __mul__(self, other: Polynomial) -> Polynomial:
        return self.times(other)


@lru_cache(maxsize=65536)
def _order(atom: Expr) -> str:
    return atom.id if isinstance(atom, Name) else repr(atom)


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

    def interval(self, expr: Expr) -> tuple[int | None, int | None]:
        """The least and greatest value of an index expression; None where that is not known."""
        if isinstance(expr, Number) and isinstance(expr.value, int):
            return int(expr.value), int(expr.value)
        if isinstance(expr, Name):
            return self._name(expr.id)
        if isinstance(expr, Unary) and expr.op == "-":
            low, high = self.interval(expr.operand)
            return _negated(high), _negated(low)
        if isinstance(expr, Call) and expr.op in ("maximum", "minimum") and len(expr.args) == 2:
            return _extreme(expr.op, self.interval(expr.args[0]), self.interval(expr.args[1]))
        if isinstance(expr, Call) and expr.op == "where":
            return _either(self.interval(expr.args[1]), self.interval(expr.args[2]))
        if isinstance(expr, Call) and expr.op == "cdiv":
            return 0, self.interval(expr.args[0])[1]
        if isinstance(expr, Call) and expr.op == "abs":
            return _magnitude(self.interval(expr.args[0]))
        if isinstance(expr, Call) and expr.op == "cast":
            return self._cast(expr)
        if isinstance(expr, Binary) and expr.op in _INTERVALS:
            return _INTERVALS[expr.op](self.interval(expr.left), self.interval(expr.right))
        return None, None

    def _name(self, name: str) -> tuple[int | None, int | None]:
        if name in self.extents:
            high = self.interval(self.extents[name])[1]
            return 0, None if high is None else high - 1
        if name in self.counters:
            start, stop = self.counters[name]
            high = self.interval(stop)[1]
            return self.interval(start)[0], None if high is None else high - 1
        if name in self.formulas:
            return self.interval(self.formulas[name])
        return (0, None) if name in self.dimensions else (None, None)

    def _cast(self, call: Call) -> Interval:
        """An index made of another number; a float loses its fraction."""
        (inner, to), kind = call.args, call.args[0].type
        if to != Text("i64"):
            return None, None
        if kind is None or not is_float(kind.dtype):
            return self.interval(inner)
        found = self.real(inner)
        return (None, None) if found is None else (int(found[0]), int(found[1]))

    def real(self, expr: Expr) -> tuple[float, float] | None:
        """What an expression of f32 or f64 lies within, rounding included; None where that is not known."""
        kind = expr.type
        if isinstance(expr, Number):
            return _rounded(float(expr.value), float(expr.value))
        if kind is None or (kind.dtype not in ("f32", "f64") and is_float(kind.dtype)):
            return None
        if not is_float(kind.dtype):
            low, high = self.interval(expr)
            return None if low is None or high is None else _rounded(low, high)
        if isinstance(expr, Name):
            return self.real(self.formulas[expr.id]) if expr.id in self.formulas else None
        if isinstance(expr, Call) and expr.op == "cast":
            return self.real(expr.args[0])
        if isinstance(expr, Binary):
            return _combined(expr.op, self.real(expr.left), self.real(expr.right))
        if isinstance(expr, Call) and expr.op in ("maximum", "minimum") and len(expr.args) == 2:
            return _combined(expr.op, self.real(expr.args[0]), self.real(expr.args[1]))
        return None

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


Interval = tuple[int | None, int | None]


def _negated(a: int | None) -> int | None:
    return None if a is None else -a


def _add(a: Interval, b: Interval) -> Interval:
    low = None if a[0] is None or b[0] is None else a[0] + b[0]
    return low, None if a[1] is None or b[1] is None else a[1] + b[1]


def _either(a: Interval, b: Interval) -> Interval:
    low = None if a[0] is None or b[0] is None else min(a[0], b[0])
    return low, None if a[1] is None or b[1] is None else max(a[1], b[1])


def _multiply(a: Interval, b: Interval) -> Interval:
    (least, most), (other_least, other_most) = a, b
    if least is None or other_least is None:
        return None, None
    if most is None or other_most is None:
        return (least * other_least if least >= 0 and other_least >= 0 else None), None
    corners = [x * y for x in (least, most) for y in (other_least, other_most)]
    return min(corners), max(corners)


def _floor_divide(a: Interval, b: Interval) -> Interval:
    if b[0] is None or b[0] < 0:
        return None, None
    divisors = [max(b[0], 1)] + ([] if b[1] is None else [max(b[1], 1)])  # a size that divides is not 0
    low = None if a[0] is None else min(a[0] // d for d in divisors)
    if b[1] is None and low is not None:
        low = min(low, 0)
    return low, None if a[1] is None else max([a[1] // d for d in divisors] + [-1] * (b[1] is None))


def _modulo(a: Interval, b: Interval) -> Interval:
    if b[0] is None or b[0] < 0:
        return None, None
    if a[0] is not None and a[1] is not None and a[0] >= 0 and a[1] < b[0]:
        return a
    return 0, None if b[1] is None else b[1] - 1


def _extreme(op: str, a: Interval, b: Interval) -> Interval:
    if op == "maximum":
        low = max((x for x in (a[0], b[0]) if x is not None), default=None)
        return low, None if a[1] is None or b[1] is None else max(a[1], b[1])
    high = min((x for x in (a[1], b[1]) if x is not None), default=None)
    return None if a[0] is None or b[0] is None else min(a[0], b[0]), high


def _magnitude(a: Interval) -> Interval:
    low, high = a
    least = low if low is not None and low > 0 else -high if high is not None and high < 0 else 0
    return least, None if low is None or high is None else max(-low, high)


Reals = tuple[float, float]


def _combined(op: str, a: Reals | None, b: Reals | None) -> Reals | None:
    if a is None or b is None or op not in _CORNERS:
        return None
    corners = [_CORNERS[op](x, y) for x in a for y in b]
    return _rounded(min(corners), max(corners))


def _rounded(low: float, high: float) -> Reals | None:
    """Ends moved outwards by what rounding to f32 may add; None for what no index is made of."""
    slack = 2.0**-23
    ends = low - abs(low) * slack, high + abs(high) * slack
    return ends if -(2.0**62) < ends[0] <= ends[1] < 2.0**62 else None


_CORNERS: dict[str, Callable[[float, float], float]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "maximum": max,
    "minimum": min,
}
_INTERVALS: dict[str, Callable[[Interval, Interval], Interval]] = {
    "+": _add,
    "-": lambda a, b: _add(a, (_negated(b[1]), _negated(b[0]))),
    "*": _multiply,
    "//": _floor_divide,
    "%": _modulo,
}
