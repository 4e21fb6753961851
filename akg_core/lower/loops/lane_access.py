"""How the lanes of a loop reach a tensor: evenly, in order, or anywhere; and which indices are left to check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from akg_core.lower.access import place, step, uniform
from akg_core.lower.ir import Body
from akg_core.lower.loops.strides import place_drift
from akg_core.sketch.affine import Polynomial, number, polynomial
from akg_core.sketch.ast import Element, Expr, Name, rewrite, walk


@dataclass(frozen=True, slots=True)
class Check:
    """An index that is not proved to lie inside its dimension.

    `step`: how far it moves from lane to lane, 0 where all lanes share it, None where that is no one number.
    """

    index: Expr
    size: Expr
    step: int | None


@dataclass(frozen=True, slots=True)
class LaneAccess:
    """The elements of a tensor that the lanes of a loop reach by one element expression.

    `base`: a flat place, that of the first lane where lanes are evenly apart, else what of their places all share.
    `own`: the rest, lane by lane. `step`: how far lanes are apart; None where that is uneven. `single`: all lanes reach
    one element.
    """

    base: Polynomial
    own: Polynomial
    step: Polynomial | None
    single: bool
    checks: tuple[Check, ...]

    @property
    def contiguous(self) -> bool:
        return self.step is not None and self.step.constant == 1


def lane_access(body: Body, element: Element, axis: str | None, segment: Expr | None = None) -> LaneAccess:
    """How an element is reached along `axis`, in segments of a length; without an axis there is one lane."""
    tensor = body.tensors[element.tensor]
    where, still = place(element.indices, tensor.dims), number(0)

    def shared(expr: Expr) -> bool:
        return axis is None or uniform(body, expr, axis, segment)

    def moves(index: Expr) -> int | None:
        gain = still if axis is None or shared(index) else step(body, polynomial(index), axis, segment)
        return None if gain is None else gain.constant

    checks = tuple(
        Check(index, size, moves(index))
        for index, size in zip(element.indices, tensor.dims, strict=True)
        if not body.bounds.within(index, size)
    )
    if axis is None or all(map(shared, element.indices)):
        return LaneAccess(where, still, still, True, checks)
    gain = step(body, where, axis, segment)
    own = tuple(term for term in where.terms if gain is None and not all(map(shared, term[0])))
    return LaneAccess(where + -Polynomial(own), Polynomial(own), gain, False, checks)


def formulas(body: Body) -> dict[str, Expr]:
    """What each value is computed as that is assigned once."""
    maps = (op for op in body.ops() if op.kind == "map")
    found = {op.target.name: op.expr for op in maps if op.target and op.expr and not op.target.mutable}
    return found | {v.name: v.definition for v in body.values.values() if v.definition is not None}


def spelled(p: Polynomial, known: Mapping[str, Expr], even: Callable[[Name], bool]) -> Polynomial:
    """A polynomial with what is not even along the lanes by its formula."""

    def written(node: object) -> object:
        if not isinstance(node, Name) or node.id not in known or even(node):
            return node
        return rewrite(known[node.id], written)

    return Polynomial(tuple((tuple(rewrite(atom, written) for atom in atoms), by) for atoms, by in p.terms))


def length_spelled(p: Polynomial, known: Mapping[str, Expr]) -> int:
    """How many names a polynomial has with all of `known` in it by their formulas; of what is asked often, many."""
    names: dict[str, int] = {}

    def length(node: object) -> int:
        found = 0
        for part in walk(node):
            if isinstance(part, Name):
                if part.id not in names:
                    names[part.id] = length(known[part.id]) if part.id in known else 1
                found += names[part.id]
        return found

    return sum(length(atom) for atoms, _ in p.terms for atom in atoms)


def order(body: Body, access: LaneAccess, axis: str) -> str:
    """What is known of places that move unevenly: "monotonic", at most "one by one", or nothing, ""."""
    least, most = place_drift(body, access.own, axis)
    if (least is not None and least >= 0) or (most is not None and most <= 0):
        return "monotonic"
    return "one by one" if most == 1 else ""
