"""What the turns of a loop make of their own parts alone, for all turns at once: the same values with a dim before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from akg_core.design.algebra.index import Index, index
from akg_core.design.graph.anchors import operands
from akg_core.design.graph.values import (
    Concat,
    Gather,
    Iota,
    Literal,
    Pointwise,
    Product,
    Reduced,
    Reduction,
    Source,
    Value,
    View,
    Window,
    expand,
    reshape,
)

_KINDS = (Source, Literal, Iota, Pointwise, View, Window, Gather, Concat, Product, Reduced)


class Batched:
    """Values of a body for all turns. `given`: what is known of all turns, `fixed`: what is the same in all of them."""

    def __init__(self, turns: Index, given: Mapping[Value, Value], fixed: Mapping[Value, Value]) -> None:
        self._turns, self._given, self._fixed = turns, given, fixed
        self._reads: dict[Value, tuple[bool, bool]] = {}
        self._made: dict[tuple[Value, bool], Value] = {}
        self._reductions: dict[Reduction, Reduction] = {}

    def can(self, value: Value) -> bool:
        """Whether a value differs from turn to turn, and does not go on from the turn before."""
        return self._look(value) == (True, True)

    def of(self, value: Value) -> Value | None:
        """A value for all turns along a new first dim, where that can be."""
        return self._make(value, True) if self.can(value) else None

    def _look(self, value: Value) -> tuple[bool, bool]:
        """Whether a value differs from turn to turn, and whether it is made of what is known."""
        if value not in self._reads:
            if value in self._given or isinstance(value, Source):
                self._reads[value] = value in self._given, value in self._given or value in self._fixed
            else:
                below = [self._look(part) for part in operands(value)]
                known = isinstance(value, _KINDS) and not (isinstance(value, Product) and value.guards)
                self._reads[value] = any(v for v, _ in below), known and all(p for _, p in below)
        return self._reads[value]

    def _make(self, value: Value, led: bool) -> Value:
        """A value outside of the loop, with the dim of the turns (`led`) or without it."""
        key = (value, led)
        if key not in self._made:
            self._made[key] = self._new(value, led)
        return self._made[key]

    def _new(self, value: Value, led: bool) -> Value:
        lead = (self._turns,) if led else ()
        shape, n = (*lead, *value.shape), len(lead)
        if led and not self._look(value)[0] and not isinstance(value, Literal):
            return expand(reshape(self._make(value, False), (index(1), *value.shape)), shape)
        if led and value in self._given:
            return self._given[value]
        match value:
            case Source():
                return self._fixed[value]
            case Literal():
                return replace(value, shape=shape)
            case Iota(rule=own):
                return replace(value, rule=lambda at: own(at[n:]), shape=shape)
            case Pointwise(args=args):
                return replace(value, args=tuple(self._make(arg, led) for arg in args), shape=shape)
            case View(arg=arg, rule=look):
                move = _moved(value.move, lead)
                return View(
                    self._make(arg, led), lambda at: (*at[:n], *look(at[n:])), move, shape=shape, dtype=value.dtype
                )
            case Window(arg=arg, rule=look):
                return replace(value, arg=self._make(arg, led), rule=lambda at: (*at[:n], *look(at[n:])), shape=shape)
            case Gather(arg=arg, places=places, rule=find):
                return replace(
                    value,
                    arg=self._make(arg, led),
                    places=tuple(self._make(place, led) for place in places),
                    rule=lambda at, found: (*at[:n], *find(at[n:], found)),
                    shape=shape,
                )
            case Concat(parts=parts, starts=starts, ways=ways):
                return replace(
                    value,
                    parts=tuple(self._make(part, led) for part in parts),
                    starts=tuple((*(index(0) for _ in lead), *start) for start in starts),
                    ways=(*((d, 1) for d in range(n)), *((d + n, step) for d, step in ways)),
                    shape=shape,
                )
            case Product(left=left, right=right):
                return self._product(value, left, right, led)
            case Reduced(reduction=reduction):
                if reduction not in self._reductions:
                    dims = tuple(d + n for d in reduction.dims)
                    self._reductions[reduction] = Reduction(reduction.kind, self._make(reduction.arg, led), dims)
                return replace(value, reduction=self._reductions[reduction], shape=shape)
        raise AssertionError(value)

    def _product(self, value: Product, left: Value, right: Value, led: bool) -> Value:
        """A product; one with the same matrix in all turns is one product of more rows."""
        if led and len(left.shape) == 2 and not self._look(right)[0]:
            (rows, inner), columns = left.shape, right.shape[1]
            flat = reshape(self._make(left, True), (self._turns * rows, inner))
            whole = replace(value, left=flat, right=self._make(right, False), shape=(self._turns * rows, columns))
            return reshape(whole, (self._turns, rows, columns))
        lead = (self._turns,) if led else ()
        shape = (*lead, *value.shape)
        return replace(value, left=self._make(left, led), right=self._make(right, led), shape=shape)


def _moved(move: tuple[str, tuple[Index, ...]] | None, lead: tuple[Index, ...]) -> tuple[str, tuple[Index, ...]] | None:
    """What a view says of itself in a program's words, with dims before its own."""
    if move is None or not lead:
        return move
    word, given = move
    match word:
        case "permute":
            return word, (index(0), *(d + 1 for d in given))
        case "narrow" | "unfold":
            return word, (given[0] + 1, *given[1:])
    return word, (*lead, *given)
