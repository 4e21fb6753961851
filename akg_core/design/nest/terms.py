"""What one program of a kernel computes: values brought to given positions, as a graph of terms.

Equal terms are one object, so what is shared is computed once. Positions are `Index`es over loop axes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from akg_core.design.algebra.index import Axis, Index, Unknown, index, position
from akg_core.design.graph.anchors import Anchor
from akg_core.design.graph.values import (
    Gather,
    Iota,
    Literal,
    Pointwise,
    Positions,
    Reduction,
    Shape,
    Value,
    View,
    Window,
    wide,
)
from akg_core.dtypes import is_float


@dataclass(frozen=True, eq=False, slots=True)
class Buffer:
    """A tensor in memory, contiguous. `order[d]` is the dim of the value that memory's dim d holds.

    `label` says what it holds, in the graph's words.
    """

    name: str
    label: str
    dtype: str
    shape: Shape
    order: tuple[int, ...]

    def place(self, at: Positions) -> Positions:
        """Positions in memory of a value's positions."""
        return tuple(at[d] for d in self.order)


@dataclass(frozen=True, eq=False, slots=True)
class Term:
    """`op` of the language on `args`, or one of the leaves below. `serial` numbers terms as they are made."""

    op: str
    dtype: str
    args: tuple[Term, ...]
    serial: int
    name: str

    def __repr__(self) -> str:
        return f"term{self.serial}"


@dataclass(frozen=True, slots=True)
class Data(Unknown):
    """A position read from a tensor: `term` computes it."""

    term: Term


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Load(Term):
    """What a buffer holds at a position, `other` outside of it."""

    buffer: Buffer
    at: Positions
    other: int | float = 0


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Constant(Term):
    number: bool | int | float


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Place(Term):
    """A position as a number."""

    index: Index


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Result(Term):
    """Result `part` of what the kernel reduces, contracts or scans: `head` says which."""

    head: Reduction | Anchor
    part: int


_FOLDED: dict[str, Callable[..., float]] = {
    "+": float.__add__, "-": float.__sub__, "*": float.__mul__, "/": float.__truediv__, "maximum": max,
}  # fmt: skip
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "<": int.__lt__, "<=": int.__le__, ">": int.__gt__, ">=": int.__ge__, "==": int.__eq__, "!=": int.__ne__,
}  # fmt: skip


class TermTable:
    """Makes terms, equal ones once."""

    def __init__(self) -> None:
        self._known: dict[tuple, Term] = {}

    def _intern(self, key: tuple, make: Callable[[int], Term]) -> Term:
        if key not in self._known:
            self._known[key] = make(len(self._known))
        return self._known[key]

    def apply(self, op: str, args: tuple[Term, ...], dtype: str, name: str = "") -> Term:
        if (
            dtype == "i64"
            and op in ("+", "-", "*")
            and len(known := [p for p in map(_position, args) if p is not None]) == 2
        ):
            left, right = known
            return self.place(left + right if op == "+" else left - right if op == "-" else left * right)
        numbers = [a.number for a in args if isinstance(a, Constant)]
        if op in _COMPARED and len([n for n in numbers if type(n) is int]) == len(args):
            return self.constant(_COMPARED[op](*map(int, numbers)), "bool")
        if op == "&" and any(isinstance(n, bool) for n in numbers):
            truth, other = args if isinstance(args[0], Constant) else args[::-1]
            return other if isinstance(truth, Constant) and truth.number else truth
        if op == "where" and isinstance(args[0], Constant):
            return args[1] if args[0].number else args[2]
        if op in _FOLDED and len(numbers) == len(args) and dtype in ("f32", "f64") and numbers[-1]:
            return self.constant(_FOLDED[op](*map(float, numbers)), dtype)
        return self._intern(("apply", op, args, dtype), lambda n: Term(op, dtype, args, n, name))

    def cast(self, term: Term, dtype: str) -> Term:
        if term.dtype == dtype:
            return term
        if term.op == "cast" and term.args[0].dtype == dtype and term.dtype == wide(dtype):
            return term.args[0]  # widening loses nothing
        if isinstance(term, Constant) and dtype != "bool":
            return self.constant(float(term.number) if is_float(dtype) else int(term.number), dtype)
        return self.apply("cast", (term,), dtype)

    def load(self, buffer: Buffer, at: Positions, other: int | float = 0) -> Term:
        return self._intern(
            ("load", buffer, at, repr(other)),
            lambda n: Load("load", buffer.dtype, (), n, "", buffer=buffer, at=at, other=other),
        )

    def constant(self, number: bool | int | float, dtype: str) -> Term:
        key = ("constant", type(number), repr(number), dtype)
        return self._intern(key, lambda n: Constant("constant", dtype, (), n, "", number=number))

    def place(self, index: Index) -> Term:
        if index.constant is not None:
            return self.constant(index.constant, "i64")
        return self._intern(("place", index), lambda n: Place("place", "i64", (), n, "", index=index))

    def result(self, head: Reduction | Anchor, part: int, dtype: str, name: str = "") -> Term:
        return self._intern(
            ("result", id(head), part), lambda n: Result("result", dtype, (), n, name, head=head, part=part)
        )


def _position(term: Term) -> Index | None:
    """The Index that a term is known to be."""
    if isinstance(term, Place):
        return term.index
    return index(term.number) if isinstance(term, Constant) and isinstance(term.number, int) else None


class NotInside(Exception):
    """A value needs what this kernel computes, but at other positions than its own."""


Walk = Generator[tuple[Value, Positions], Term, Term]
"""Makes a term; yields a value and positions to be given its term there."""


class Inliner:
    """Brings values to positions. `stored` says where a value can be read, `inside` gives results of the kernel itself.

    `inside(value, positions)` returns a Term for an anchor, or raises NotInside.
    """

    def __init__(
        self,
        pool: TermTable,
        stored: Callable[[Value], Buffer | None],
        inside: Callable[[Anchor, Positions], Term],
        names: Mapping[Value, str],
    ) -> None:
        self.pool = pool
        self.stored = stored
        self.inside = inside
        self.names = names
        self._memo: dict[tuple[Value, Positions], Term] = {}

    def at(self, value: Value, positions: Positions) -> Term:
        """The term of a value at positions. Chains may be longer than Python's stack: walks wait in a list."""
        found = self._memo.get((value, positions))
        waiting = [] if found else [((value, positions), self._make(value, positions))]
        while waiting:
            key, walk = waiting[-1]
            try:
                asked = next(walk) if found is None else walk.send(found)
            except StopIteration as done:
                found = self._memo[key] = done.value
                waiting.pop()
                continue
            found = self._memo.get(asked)
            if found is None:
                waiting.append((asked, self._make(*asked)))
        assert found is not None
        return found

    def _make(self, value: Value, at: Positions) -> Walk:
        buffer = self.stored(value)
        if buffer is not None:
            return self.pool.cast(self.pool.load(buffer, buffer.place(at)), value.dtype)
        match value:
            case Literal(number=number):
                return self.pool.constant(number, value.dtype)
            case Iota(rule=rule):
                return self.pool.place(rule(at))
            case View(arg=arg, rule=look):
                return (yield arg, look(at))
            case Window():
                return (yield from self._windowed(value, value.rule(at)))
            case Gather(arg=arg, places=places, rule=gather):
                read = yield from _each(places, at)
                return (yield arg, gather(at, tuple(position(Data(term)) for term in read)))
            case Pointwise(op="copy" | "stored", args=(arg,)):
                return (yield arg, at)
            case Pointwise(op="cast", args=(arg,)):
                return self.pool.cast((yield arg, at), value.dtype)
            case Pointwise(op=op, args=args):
                parts = yield from _each(args, at)
                return self.pool.apply(op, tuple(parts), value.dtype, self.names.get(value, ""))
        assert isinstance(value, Anchor)
        return self.inside(value, at)

    def _windowed(self, value: Window, places: Positions) -> Walk:
        """What a window shows at places in its argument: a load says itself what is outside."""
        fill = self.pool.constant(value.fill, value.dtype)
        if any(map(_is_outside, places, value.arg.shape)):
            return fill
        arg, inner = _unwrapped(value.arg, places, self.stored)
        buffer = self.stored(arg)
        if buffer is not None:
            return self.pool.cast(self.pool.load(buffer, buffer.place(inner), value.fill), value.dtype)
        found = yield value.arg, places
        for place, size in zip(places, value.arg.shape, strict=True):
            limits = place.bounds()
            checks: list[Term] = []
            if limits is None or not limits[0].nonnegative:
                checks.append(self.pool.apply(">=", (self.pool.place(place), self.pool.constant(0, "i64")), "bool"))
            if limits is None or not (size - 1 - limits[1]).nonnegative:
                checks.append(self.pool.apply("<", (self.pool.place(place), self.pool.place(size)), "bool"))
            for check in checks:
                found = self.pool.apply("where", (check, found, fill), value.dtype)
        return found


def _is_outside(place: Index, size: Index) -> bool:
    """Whether a place is before or past a dim of this size wherever a program stands."""
    limits = place.bounds()
    return limits is not None and ((limits[0] - size).nonnegative or (-1 - limits[1]).nonnegative)


def _each(values: tuple[Value, ...], at: Positions) -> Generator[tuple[Value, Positions], Term, list[Term]]:
    found: list[Term] = []
    for value in values:
        found.append((yield value, at))
    return found


def _unwrapped(value: Value, places: Positions, stored: Callable[[Value], Buffer | None]) -> tuple[Value, Positions]:
    """What is below casts, permutations and dims of size 1, which leave inside what is inside."""
    while stored(value) is None:
        if (
            isinstance(value, Pointwise)
            and value.op == "cast"
            and is_float(value.dtype)
            and is_float(value.args[0].dtype)
        ):
            value = value.args[0]
        elif isinstance(value, View) and value.move is not None and value.move[0] == "permute":
            places = value.rule(places)
            value = value.arg
        elif isinstance(value, View) and value.move is not None and value.move[0] == "reshape":
            kept = [(p, s) for p, s in zip(places, value.shape, strict=True) if s != 1 or p != 0]
            if [s for _, s in kept] != [s for s in value.arg.shape if s != 1]:
                break
            following = iter(kept)
            places = tuple(index(0) if s == 1 else next(following)[0] for s in value.arg.shape)
            value = value.arg
        else:
            break
    return value, places


def below(roots: Iterator[Term] | list[Term]) -> list[Term]:
    """All terms that these are made of, themselves included, parts before wholes."""
    found: dict[Term, None] = {}
    stack = [(root, False) for root in reversed(list(roots))]
    while stack:
        term, parts_are = stack.pop()
        if parts_are:
            found[term] = None
        elif term not in found:
            stack.append((term, True))
            stack += [(part, False) for part in reversed(inputs(term)) if part not in found]
    return list(found)


def inputs(term: Term) -> list[Term]:
    """The terms that a term reads, those inside its positions included."""
    return [*term.args, *read_by(positions(term))]


def read_by(at: Positions) -> list[Term]:
    """The terms that positions are computed from."""
    return sorted((a.term for walk in at for a in walk.atoms() if isinstance(a, Data)), key=lambda term: term.serial)


def positions(term: Term) -> Positions:
    if isinstance(term, Load):
        return term.at
    return (term.index,) if isinstance(term, Place) else ()


def rewritten(
    pool: TermTable,
    roots: list[Term],
    change: Callable[[Index], Index] = lambda at: at,
    known: Mapping[Term, Term] = MappingProxyType({}),
) -> dict[Term, Term]:
    """For each term below `roots`, the one of `pool` with its positions changed; `known`: what stands for some."""
    new: dict[Term, Term] = {}

    def data(atom: object) -> Index | None:
        return position(Data(new[atom.term])) if isinstance(atom, Data) else None

    for term in below(roots):
        match term:
            case _ if term in known:
                new[term] = known[term]
            case Load(buffer=buffer, at=at, other=other):
                new[term] = pool.load(buffer, tuple(change(p.replace(data)) for p in at), other)
            case Place(index=at):
                new[term] = pool.place(change(at.replace(data)))
            case Constant(number=number):
                new[term] = pool.constant(number, term.dtype)
            case Result():
                new[term] = term
            case _:
                new[term] = pool.apply(term.op, tuple(new[a] for a in term.args), term.dtype, term.name)
    return new


def axes_of(terms: list[Term], kept: frozenset[Axis]) -> dict[Term, frozenset[Axis]]:
    """The axes that each term, parts before wholes, varies along; results vary along `kept`."""
    found: dict[Term, frozenset[Axis]] = {}
    for term in terms:
        axes = {a for walk in positions(term) for a in walk.axes()}
        for part in inputs(term):
            axes |= found[part]
        found[term] = frozenset(axes) | (kept if isinstance(term, Result) else frozenset())
    return found
