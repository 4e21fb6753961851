"""Polynomials with integer coefficients in one normal form: the index arithmetic of the designer and of sketches.

What atoms are, each says for itself: sizes and loop positions of the designer, names and subexpressions of a sketch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

Atom = TypeVar("Atom")
P = TypeVar("P", bound="Polynomial[Any]")

_DIVISIONS = 64  # steps of a division by a sum; what is left then is a remainder like any other


class Polynomial(Generic[Atom]):
    """An immutable sum of integer multiples of products of atoms; the empty product is the constant term.

    Equal ones have equal `terms`: products of sorted atoms in order, each with its coefficient, which is not 0.
    """

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: Iterable[tuple[tuple[Atom, ...], int]] = ()) -> None:
        sums: dict[tuple[Atom, ...], int] = {}
        for monomial, coefficient in terms:
            sums[monomial] = sums.get(monomial, 0) + coefficient
        kept = [term for term in sums.items() if term[1]]
        if len(kept) > 1:
            kept.sort(key=lambda term: [*map(self.key, term[0])])
        self.terms: tuple[tuple[tuple[Atom, ...], int], ...] = tuple(kept)
        self._hash: int | None = None

    @classmethod
    def of(cls: type[P], terms: tuple[tuple[tuple[Any, ...], int], ...]) -> P:
        """The polynomial with these terms, which are in normal form already."""
        made = cls.__new__(cls)
        made.terms, made._hash = terms, None
        return made

    @staticmethod
    def key(atom: Atom) -> Any:
        """What atoms are sorted by."""
        return repr(atom)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self.terms)
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __repr__(self) -> str:
        return " + ".join("*".join([str(c), *map(repr, m)]) for m, c in self.terms) or "0"

    @property
    def constant(self) -> int | None:
        """The number that this is; None when it has atoms."""
        if not self.terms:
            return 0
        return self.terms[0][1] if len(self.terms) == 1 and not self.terms[0][0] else None

    def plus(self: P, other: P) -> P:
        if not other.terms:
            return self
        return type(self)((*self.terms, *other.terms)) if self.terms else other

    def times(self: P, other: P) -> P:
        for one, number in ((self, other.constant), (other, self.constant)):
            if number is not None:
                return one.scaled(number)
        return type(self)(
            (tuple(sorted((*m, *n), key=self.key)) if m and n else m or n, c * d)
            for m, c in self.terms
            for n, d in other.terms
        )

    def scaled(self: P, number: int) -> P:
        """This `number` times."""
        return self if number == 1 else self.of(tuple((m, c * number) for m, c in self.terms) if number else ())

    def __neg__(self: P) -> P:
        return self.scaled(-1)

    def factor_of(self: P, atom: Atom) -> P | None:
        """The polynomial that multiplies `atom`; None when the atom stands in a higher power."""
        parts = [(without(m, (atom,)) or (), c) for m, c in self.terms if atom in m]
        return None if any(atom in m for m, _ in parts) else type(self)(parts)

    def exact(self: P, divisor: P) -> P | None:
        """The quotient where `divisor` divides this, else None."""
        whole, rest = self.divided(divisor)
        return whole if not rest.terms else None

    def divided(self: P, divisor: P) -> tuple[P, P]:
        """(q, r) with self = q * divisor + r, where q takes every term that the divisor divides."""
        one = type(self)([((), 1)])
        if self == divisor:
            return one, type(self)()
        if len(divisor.terms) != 1:
            return self._divided_by_sum(divisor)
        ((atoms, factor),) = divisor.terms
        whole, rest = [], []
        for monomial, coefficient in self.terms:
            left = without(monomial, atoms)
            if left is None or (coefficient % factor and monomial != ()):
                rest.append((monomial, coefficient))
            else:
                whole.append((left, coefficient // factor))
                rest.append((monomial, coefficient % factor))
        return type(self)(whole), type(self)(rest)

    def _divided_by_sum(self: P, divisor: P) -> tuple[P, P]:
        """The same by several terms: polynomial division, led by the term with the most atoms."""
        whole, rest = type(self)(), self
        if not divisor.terms:
            return whole, rest
        lead, factor = max(divisor.terms, key=lambda t: len(t[0]))
        for _ in range(_DIVISIONS):
            found = ((without(m, lead), c // factor) for m, c in rest.terms if c % factor == 0)
            part = type(self)([(m, c) for m, c in found if m is not None][:1])
            if not part.terms:
                break
            whole, rest = whole.plus(part), rest.plus(-part.times(divisor))
        return whole, rest

    def recombined(self: P, digit: Callable[[Atom], tuple[P, P, Atom] | None]) -> P | None:
        """One t // b * b + t % b replaced by t; `digit` tells (t, b, t // b) of t % b. None without such a pair."""
        for monomial, coefficient in self.terms:
            for atom in monomial:
                parts = digit(atom)
                if parts is None:
                    continue
                top, bottom, quotient = parts
                rest = type(self)([(without(monomial, (atom,)) or (), coefficient)])
                pair = dict(rest.times(bottom).times(type(self)([((quotient,), 1)])).terms)
                terms = dict(self.terms)
                if all(terms.get(m) == c for m, c in pair.items()):
                    left = type(self)((m, c) for m, c in self.terms if m != monomial and m not in pair)
                    return left.plus(rest.times(top))
        return None


def without(monomial: tuple[Atom, ...], atoms: Iterable[Atom]) -> tuple[Atom, ...] | None:
    """A product divided by some of its atoms; None when it does not have them all."""
    left = list(monomial)
    for atom in atoms:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)
