"""Terms become expressions and assignments of the language: what is shared gets a name, tensors the dims they need."""

from __future__ import annotations

import keyword
from collections.abc import Iterable
from dataclasses import dataclass, field

from akg_core.design.algebra.expression import to_expr
from akg_core.design.algebra.index import Atom, Axis, Index, Symbol
from akg_core.design.graph.values import Positions
from akg_core.design.nest.nest import factored, segments
from akg_core.design.nest.terms import Buffer, Constant, Data, Load, Place, Result, Term, axes_of, inputs
from akg_core.sketch.ast import Assign, Call, Element, Expr, Name, Number, Statement, TensorParameter, Text, call
from akg_core.sketch.names import identifier
from akg_core.sketch.ops import OPERATIONS

LONG = 14  # terms in one expression, above which it gets a name of its own
_RESERVED = (
    frozenset(OPERATIONS) | set(keyword.kwlist) | {"grid", "tiles", "whole", "range", "inf", "nan", "pow", "index"}
)


@dataclass(slots=True)
class Parameter:
    """A tensor of a kernel: which buffer, seen with which dims, read or written."""

    name: str
    buffer: Buffer
    dims: tuple[Index, ...]
    read: bool = False
    written: bool = False


@dataclass(slots=True)
class Writer:
    """Writes one kernel. `axis_names` says how axes are called; `special` how single atoms are written otherwise."""

    axis_names: dict[Axis, str]
    special: dict[Atom, Expr] = field(default_factory=dict)
    parameters: dict[tuple[Buffer, tuple[Index, ...]], Parameter] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    known: dict[Term, Expr] = field(default_factory=dict)
    sizes: dict[Index, str] = field(default_factory=dict)
    unjoined: set[Buffer] = field(default_factory=set)

    def fresh(self, hint: str) -> str:
        """A name that nothing in the kernel has."""
        hint = identifier(hint)
        taken = (self.names, _RESERVED, self.axis_names.values(), self.sizes.values())
        name, number = hint, 1
        while any(name in names for names in taken):
            name, number = f"{hint}_{number}", number + 1
        self.names.add(name)
        return name

    # --- tensors and positions ---------------------------------------------------------------------

    def index(self, value: Index) -> Expr:
        return to_expr(value, self._atom)

    def _atom(self, atom: Atom) -> Expr | None:
        if atom in self.special:
            return self.special[atom]
        if isinstance(atom, Axis):
            return Name(self.axis_names[atom])
        if isinstance(atom, Data):
            return self.expression(atom.term)
        return None

    def element(self, buffer: Buffer, at: Positions, write: bool = False, partly: bool = False) -> Element:
        """The place in a buffer, and the parameter that the kernel needs for it.

        `partly`: what is not written stays as it was.
        """
        dims = _walked(buffer, at)
        if buffer in self.unjoined:
            dims = list(zip(at, buffer.shape, strict=True))
        sizes = tuple(s for _, s in dims)
        key = (buffer, sizes)
        if key not in self.parameters:
            self.parameters[key] = Parameter(self.fresh(buffer.name), buffer, sizes)
        parameter = self.parameters[key]
        parameter.read, parameter.written = parameter.read or not write or partly, parameter.written or write
        return Element(parameter.name, tuple(self.index(p) for p, _ in dims))

    def unjoin(self, places: Iterable[tuple[Buffer, Positions]]) -> None:
        """See tensors in their own dims where places in one would join these in several ways: it is one parameter."""
        ways: dict[Buffer, tuple[Index, ...]] = {}
        for buffer, at in places:
            sizes = tuple(s for _, s in _walked(buffer, at))
            if ways.setdefault(buffer, sizes) != sizes:
                self.unjoined.add(buffer)

    def declared(self) -> tuple[list[TensorParameter], list[Parameter]]:
        """The kernel's tensor parameters, read ones first, and what they stand for."""
        ordered = sorted(self.parameters.values(), key=lambda p: p.written)
        roles = {(True, False): "In", (True, True): "InOut", (False, True): "Out", (False, False): "In"}
        return [
            TensorParameter(p.name, roles[p.read, p.written], p.buffer.dtype, tuple(self.size(d) for d in p.dims))
            for p in ordered
        ], ordered

    def size(self, value: Index) -> Expr:
        """A size as the kernel knows it: a number, or a name that a dim binds."""
        return Name(self.sizes[value]) if value in self.sizes else to_expr(value)

    def bind_sizes(self, values: Iterable[Index]) -> None:
        """Name symbolic sizes that are whole dims, so that calls bind them."""
        for value in dict.fromkeys(values):
            if value.constant is None and value not in self.sizes:
                (monomial, coefficient), *more = value.terms
                atom = monomial[0] if not more and coefficient == 1 and len(monomial) == 1 else None
                self.sizes[value] = atom.name if isinstance(atom, Symbol) else self.fresh("N")

    def keep_written(self) -> None:
        """Say that the kernel does not write all of what it writes: the rest is to stay as it was."""
        for parameter in self.parameters.values():
            parameter.read = parameter.read or parameter.written

    # --- terms ----------------------------------------------------------------------------------------

    def expression(self, term: Term) -> Expr:
        if term in self.known:
            return self.known[term]
        match term:
            case Load(buffer=buffer, at=at, other=other):
                inside = all(s.safe for s in segments(at, buffer.shape))
                outside = () if inside or other == 0 else (("other", Number(other)),)
                return Call("load", (self.element(buffer, at),), outside)
            case Constant(number=number):
                return Number(number)
            case Place(index=index):
                return self.index(index)
            case Result():
                raise KeyError(f"{term.name or term} is used before it is made")
        if term.op == "cast":
            return Call("cast", (self.expression(term.args[0]), Text(term.dtype)))
        op, _, word = term.op.partition(" ")
        if word:
            return Call(op, (self.expression(term.args[0]), Text(word)))
        args = [*map(self.expression, term.args)]
        if op == "where" and term.dtype == "f64" and all(isinstance(a, Constant) for a in term.args[1:]):
            args[1] = Call("cast", (args[1], Text("f64")))  # one of literals alone is f32
        return call(term.op, *args)

    def named(self, terms: list[Term], roots: list[Term], only: frozenset[Axis] | None = None) -> list[Statement]:
        """Assignments for what `roots` share or what would be too long; `only`: just what varies along these axes.

        `terms`: all terms in order, parts before wholes.
        """
        needed = self._needed(roots)
        uses: dict[Term, int] = {}
        for term in [*needed, None]:
            for part in roots if term is None else inputs(term):
                uses[part] = uses.get(part, 0) + 1
        out: list[Statement] = []
        lengths: dict[Term, int] = {}
        for term in terms:
            if term not in needed or term in self.known or isinstance(term, (Constant, Result, Place)):
                continue
            lengths[term] = 1 + sum(1 if p in self.known else lengths.get(p, 1) for p in inputs(term))
            if uses[term] > 1 or (lengths[term] > LONG and term not in roots):
                self.assign(term, out)
        return out

    def assign(self, term: Term, out: list[Statement], hint: str = "") -> Expr:
        """A name for a term's value."""
        if term in self.known or isinstance(term, (Constant, Place)):
            return self.expression(term)
        source = term
        while source.op == "cast":
            source = source.args[0]
        hint = hint or (
            f"{source.buffer.name}_t"
            if isinstance(source, Load)
            else term.name or source.name or (source.op if source.op.isidentifier() else "t")
        )
        value = self.expression(term)
        name = self.fresh(hint)
        out.append(Assign((name,), value))
        self.known[term] = Name(name)
        return self.known[term]

    def hoisted(
        self, terms: list[Term], roots: list[Term], inner: frozenset[Axis], loads: bool = True
    ) -> list[Statement]:
        """Assignments for what does not vary along `inner`, to be put before the loops over these axes.

        `loads`: bare loads too, not only what is computed of them.
        """
        needed = self._needed(roots)
        axes = axes_of(terms, frozenset(self.axis_names) - inner)
        outer = {t for t in needed if not axes[t] & inner}
        read_inside = {part for t in needed - outer for part in inputs(t)}
        wanted: list[Term] = []
        for term in terms:
            if term not in outer or isinstance(term, (Constant, Result, Place)) or term in self.known:
                continue
            if term in read_inside and (loads or not isinstance(term, Load)):
                wanted.append(term)
        out = self.named(terms, wanted)
        for term in wanted:
            self.assign(term, out)
        return out

    def _needed(self, roots: list[Term]) -> set[Term]:
        """What must be computed for `roots`, down to what is known."""
        found: set[Term] = set()
        stack = list(roots)
        while stack:
            term = stack.pop()
            if term not in found and term not in self.known:
                found.add(term)
                stack += inputs(term)
        return found


def _walked(buffer: Buffer, at: Positions) -> list[tuple[Index, Index]]:
    """Positions and sizes of the dims that a place is seen in, neighbours joined where they can be."""
    segmented = segments(at, buffer.shape)
    # A dim of one position says nothing, unless positions leave it or it is all there is.
    dims = [d for s in segmented for d in factored(s) if d[1] != 1 or not s.safe]
    return dims or [d for s in segmented for d in factored(s)][:1]
