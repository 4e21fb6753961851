"""Integer arithmetic over sizes and positions, kept in one normal form.

An `Index` is a polynomial with integer coefficients over atoms: symbolic sizes, loop axes, and quotients and
remainders that could not be simplified. Reshapes become quotients and remainders; because positions know their
ranges, most of them cancel, and what is left says exactly how a tensor is walked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce

from akg_core.polynomial import Polynomial


@dataclass(frozen=True, slots=True)
class Symbol:
    """A size that is only known at launch, at least 1; `example` is what tiles are chosen by."""

    name: str
    example: int


@dataclass(frozen=True, slots=True)
class Axis:
    """A loop position in [0, extent)."""

    name: str
    extent: Index

    def __hash__(self) -> int:
        return hash(self.name)  # few have one name, and this is asked for all the time


@dataclass(frozen=True, slots=True)
class Quotient:
    top: Index
    bottom: Index


@dataclass(frozen=True, slots=True)
class Remainder:
    top: Index
    bottom: Index


@dataclass(frozen=True, slots=True)
class Unknown:
    """A position of which no range is known; who derives from it says what it is."""


Atom = Symbol | Axis | Quotient | Remainder | Unknown
Monomial = tuple[Atom, ...]


@lru_cache(maxsize=65536)
def _order(atom: Atom) -> tuple[int, str]:
    kinds = (Axis, Quotient, Remainder, Unknown, Symbol)
    kind = next(number for number, each in enumerate(kinds) if isinstance(atom, each))
    return kind, atom.name if isinstance(atom, (Axis, Symbol)) else repr(atom)


class Index(Polynomial[Atom]):
    """An immutable polynomial. Supports `+ - *`, and `//`, `%` by a positive Index, with ints mixed in."""

    __slots__ = ()

    @staticmethod
    def key(atom: Atom) -> tuple[int, str]:
        return _order(atom)

    __hash__ = Polynomial.__hash__

    def __eq__(self, other: object) -> bool:
        return self.constant == other if isinstance(other, int) else super().__eq__(other)

    def __add__(self, other: Index | int) -> Index:
        added = index(other)
        return _simplified(self.plus(added)) if self.terms and added.terms else self if self.terms else added

    def __mul__(self, other: Index | int) -> Index:
        return self if other == 1 else _simplified(self.times(index(other)))

    def __sub__(self, other: Index | int) -> Index:
        return self + -index(other)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: int) -> Index:
        return index(other) - self

    def __floordiv__(self, other: Index | int) -> Index:
        bottom = index(other)
        whole, rest = self._parted(bottom)
        if not rest.terms or rest.within(0, bottom):
            return whole
        if rest.constant is not None and bottom.constant is not None:
            return whole + rest.constant // bottom.constant
        top, apart = _undivided(rest)
        return whole + Index([((Quotient(top, apart * bottom),), 1)])

    def __mod__(self, other: Index | int) -> Index:
        bottom = index(other)
        _, rest = self._parted(bottom)
        if not rest.terms or rest.within(0, bottom):
            return rest
        if rest.constant is not None and bottom.constant is not None:
            return index(rest.constant % bottom.constant)
        return Index([((Remainder(rest, bottom),), 1)])

    def _parted(self, bottom: Index) -> tuple[Index, Index]:
        """What `divided` gives; as a quotient and a remainder where factors larger than a constant divisor can be so:
        of 6 * n + 1 by 5, with n < 4, n and n + 1."""
        whole, rest = self.divided(bottom)
        if bottom.constant and rest.terms and not rest.within(0, bottom):
            more = Index([(monomial, factor // bottom.constant) for monomial, factor in rest.terms])
            less = rest - more * bottom
            if less.within(0, bottom):
                return whole + more, less
        return whole, rest

    def bounds(self) -> tuple[Index, Index] | None:
        """Inclusive (low, high) over sizes only; None when unknown."""
        return _bounds(self)

    def within(self, start: int, stop: Index) -> bool:
        """Whether start <= self < stop can be proved."""
        limits = self.bounds()
        return limits is not None and (limits[0] - start).nonnegative and (stop - 1 - limits[1]).nonnegative

    @property
    def nonnegative(self) -> bool:
        """Whether this, made of sizes only, is never negative: sizes are at least 1."""
        if self.constant is not None:
            return self.constant >= 0
        grown = self.replace(lambda a: Index([((a,), 1), ((), 1)]) if isinstance(a, Symbol) else None)
        return all(c >= 0 for _, c in grown.terms)

    def replace(self, change: Callable[[Atom], Index | None]) -> Index:
        """Every atom for which `change` gives an Index replaced by it, inside quotients too."""
        new = {atom: _replaced(atom, change) for monomial, _ in self.terms for atom in monomial}
        if all(by is None for by in new.values()):
            return self
        total = index(0)
        for monomial, coefficient in self.terms:
            product = index(coefficient)
            for atom in monomial:
                by = new[atom]
                product = product * (position(atom) if by is None else by)
            total = total + product
        return total

    def atoms(self) -> frozenset[Atom]:
        """All atoms, also those inside quotients and remainders."""
        return _atoms(self)

    def axes(self) -> set[Axis]:
        return {a for a in self.atoms() if isinstance(a, Axis)}

    def coefficient(self, axis: Axis) -> Index | None:
        """The factor of `axis` when this is linear in it, 0 when it does not occur, else None."""
        others = (m for m, _ in self.terms if axis not in m)
        if any(axis in part.axes() for monomial in others for part in _inside(monomial)):
            return None
        return self.factor_of(axis)

    @property
    def example(self) -> int:
        """The number this is at the example sizes; only for sizes."""
        total = 0
        for monomial, coefficient in self.terms:
            for atom in monomial:
                if isinstance(atom, Symbol):
                    coefficient *= atom.example
                elif isinstance(atom, (Quotient, Remainder)):
                    top, bottom = atom.top.example, atom.bottom.example
                    coefficient *= top // bottom if isinstance(atom, Quotient) else top % bottom
                else:
                    raise ValueError(f"{atom} is no size")
            total += coefficient
        return total


def index(value: Index | int) -> Index:
    """An int as an Index."""
    return value if isinstance(value, Index) else _number(value)


@lru_cache(maxsize=4096)
def _number(value: int) -> Index:
    return Index([((), value)])


def position(atom: Atom) -> Index:
    """One atom as an Index."""
    return Index.of((((atom,), 1),))


def product(sizes: Iterable[Index]) -> Index:
    return reduce(lambda a, b: a * b, sizes, index(1))


def ceil_div(top: Index, bottom: Index | int) -> Index:
    return (top + index(bottom) - 1) // bottom


def flatten(indices: Sequence[Index], shape: Sequence[Index]) -> Index:
    """The row-major offset of `indices` in a tensor of `shape`."""
    return reduce(lambda offset, pair: offset * pair[1] + pair[0], zip(indices, shape, strict=True), index(0))


def unflatten(offset: Index, shape: Sequence[Index]) -> tuple[Index, ...]:
    """The indices of the row-major `offset` in a tensor of `shape`; an empty one has no offset, and any will do."""
    if 0 in shape:
        return (index(0),) * len(shape)
    found: list[Index] = []
    for size in reversed(shape[1:]):
        found.append(offset % size)
        offset = offset // size
    return (offset, *reversed(found)) if shape else ()


def _inside(monomial: Monomial) -> list[Index]:
    return [part for a in monomial if isinstance(a, (Quotient, Remainder)) for part in (a.top, a.bottom)]


@lru_cache(maxsize=65536)
def _atoms(value: Index) -> frozenset[Atom]:
    found: set[Atom] = set()
    for monomial, _ in value.terms:
        for atom in monomial:
            found.add(atom)
            if isinstance(atom, (Quotient, Remainder)):
                found |= atom.top.atoms() | atom.bottom.atoms()
    return frozenset(found)


@lru_cache(maxsize=65536)
def _bounds(value: Index) -> tuple[Index, Index] | None:
    low, high = index(0), index(0)
    for monomial, coefficient in value.terms:
        below, above = index(coefficient), index(coefficient)
        for atom in monomial:
            limits = _range(atom)
            if limits is None or not limits[0].nonnegative:
                return None
            below, above = below * limits[0], above * limits[1]
        low, high = (low + below, high + above) if coefficient > 0 else (low + above, high + below)
    return low, high


@lru_cache(maxsize=65536)
def _range(atom: Atom) -> tuple[Index, Index] | None:
    if isinstance(atom, Symbol):
        return position(atom), position(atom)
    if isinstance(atom, Axis):
        return index(0), atom.extent - 1
    if isinstance(atom, Unknown):
        return None
    if isinstance(atom, Remainder):
        return index(0), atom.bottom - 1
    limits = atom.top.bounds()
    if limits is None or not limits[0].nonnegative:
        return None
    last = (limits[1] + 1).exact(atom.bottom)
    if last is not None:
        return index(0), last - 1
    top, bottom = limits[1].constant, atom.bottom.constant
    return index(0), index(top // bottom) if top is not None and bottom is not None else limits[1]


def _replaced(atom: Atom, change: Callable[[Atom], Index | None]) -> Index | None:
    """What takes an atom's place; None where it stays."""
    new = change(atom)
    if new is None and isinstance(atom, (Quotient, Remainder)):
        top, bottom = atom.top.replace(change), atom.bottom.replace(change)
        # Also where both stay: a quotient of a quotient is not divided out when it is made.
        new = top // bottom if isinstance(atom, Quotient) else top % bottom
        return None if new == position(atom) else new
    return new


def _undivided(value: Index) -> tuple[Index, Index]:
    """(t, d) where a value is t // d."""
    if len(value.terms) == 1 and value.terms[0][1] == 1 and len(value.terms[0][0]) == 1:
        (atom,) = value.terms[0][0]
        if isinstance(atom, Quotient):
            return atom.top, atom.bottom
    return value, index(1)


def _with_joined_digits(total: Index) -> Index | None:
    """The same with (t // b % c) * b + t % b as t % (b * c), None without such a pair."""
    found = []
    for term in total.terms:
        remainders = [atom for atom in term[0] if isinstance(atom, Remainder)]
        if len(remainders) == 1:
            factor = Index([(tuple(atom for atom in term[0] if atom != remainders[0]), term[1])])
            found.append((term, remainders[0], factor))
    for low, digit, factor in found:
        top, apart = _undivided(digit.top)
        for high, other, wanted in found:
            if _undivided(other.top) == (top, apart * digit.bottom) and wanted == factor * digit.bottom:
                rest = Index(term for term in total.terms if term not in (low, high))
                return rest + digit.top % (digit.bottom * other.bottom) * factor
    return None


def _simplified(total: Index) -> Index:
    """What reshapes that are undone leave behind, put together again."""
    if not any(isinstance(atom, Remainder) for monomial, _ in total.terms for atom in monomial):
        return total
    joined = _with_joined_digits(total)
    if joined is not None:
        return joined
    whole = total.recombined(_parts)
    return total if whole is None else _simplified(whole)


def _parts(atom: Atom) -> tuple[Index, Index, Atom] | None:
    """(t, b, t // b) where an atom is t % b."""
    return (atom.top, atom.bottom, Quotient(atom.top, atom.bottom)) if isinstance(atom, Remainder) else None
