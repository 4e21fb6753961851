"""How index expressions move along an axis: the step in memory from one position to the next.

Digits of a split do not move evenly, but they do inside a segment: with `ow = p % OW`, positions of one row of OW have
the same `p // OW`, and `ow` counts up. So a loop over p that runs segment by segment sees even steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from akg_core.lower.ir import Body, Op, element_of
from akg_core.sketch.affine import Polynomial, number, polynomial, recombine
from akg_core.sketch.ast import Binary, Call, Element, Expr, Name, Number, TensorParameter, Unary, walk


class Varying(Protocol):
    """Whoever knows along which axes an expression varies: a body, or an emitter of its own."""

    def axes_of(self, expr: Expr) -> frozenset[str]: ...


def place(indices: Sequence[Expr], dims: Sequence[Expr]) -> Polynomial:
    """The flat place of an element in a contiguous tensor."""
    total, stride = number(0), number(1)
    for index, size in zip(reversed(indices), reversed(dims), strict=True):
        total = total + polynomial(index) * stride
        stride = stride * polynomial(size)
    return recombine(total)  # digits of one index may meet only here


def step(body: Varying, p: Polynomial, axis: str, segment: Expr | None = None) -> Polynomial | None:
    """What `p` gains from one position of `axis` to the next within a segment; None when that varies."""
    total = number(0)
    for atom in p.atoms():
        moves = _moves(body, atom, axis, segment)
        if moves is None:
            return None
        if moves:
            factor = p.factor_of(atom)
            if factor is None or any(_moves(body, a, axis, segment) != 0 for a in factor.atoms()):
                return None
            total = total + factor
    return total


def uniform(body: Body, expr: Expr, axis: str, segment: Expr | None = None) -> bool:
    """Whether an expression has one value for all positions of a segment of `axis`."""
    if axis not in body.axes_of(expr):
        return True
    found = _moves(body, expr, axis, segment)
    if found is not None:
        return found == 0
    if isinstance(expr, (Binary, Unary)):
        parts = (expr.left, expr.right) if isinstance(expr, Binary) else (expr.operand,)
        return all(uniform(body, part, axis, segment) for part in parts)
    if isinstance(expr, Call) and expr.op != "load":
        return all(uniform(body, part, axis, segment) for part in expr.args)
    return False


def _moves(body: Varying, atom: Expr, axis: str, segment: Expr | None) -> int | None:
    """0 when an atom stays, 1 when it counts up with the axis, None when neither."""
    if isinstance(atom, Name):
        if atom.id == axis:
            return 1
        return 0 if axis not in body.axes_of(atom) else None
    if axis not in body.axes_of(atom):
        return 0
    if isinstance(atom, Binary) and atom.op in ("//", "%") and axis not in body.axes_of(atom.right):
        below = _moves(body, atom.left, axis, segment)
        if below == 0:
            return 0
        if segment is not None and _counts(atom.left, axis, segment) and _divides(segment, atom.right):
            return 1 if atom.op == "%" else 0
    return None


def _counts(expr: Expr, axis: str, segment: Expr) -> bool:
    """Whether `expr` counts up with the axis through a segment, from a multiple of the segment's length on."""
    if isinstance(expr, Binary) and expr.op == "%":
        return _counts(expr.left, axis, segment) and _divides(segment, expr.right)
    return expr == Name(axis)


def _divides(segment: Expr, divisor: Expr) -> bool:
    if isinstance(segment, Number) and isinstance(divisor, Number):
        return segment.value != 0 and divisor.value % segment.value == 0
    quotient = polynomial(divisor).exact(polynomial(segment))
    return quotient is not None


def segment(body: Body, exprs: Iterable[Expr], axis: str) -> Expr | None:
    """The length of the segments of `axis` in which all of `exprs` move evenly; None when they do anyway or never."""
    divisors: list[Expr] = []
    for expr in exprs:
        for node in _digits(body, expr, axis):
            divisors.append(node.right)
    for candidate in divisors:
        if all(_divides(candidate, divisor) for divisor in divisors):
            return candidate
    return None


def _digits(body: Body, expr: Expr, axis: str) -> Iterator[Binary]:
    for node in walk(expr):
        if isinstance(node, Binary) and node.op in ("//", "%") and node.left == Name(axis):
            yield node
        elif isinstance(node, Name) and node.id in body.values:
            definition = body.values[node.id].definition
            if definition is not None:
                yield from _digits(body, definition, axis)


@dataclass(frozen=True, slots=True)
class Access:
    """One element expression of an op, with its flat place."""

    element: Element
    tensor: TensorParameter
    place: Polynomial
    stores: bool


def accesses(body: Body, op: Op) -> list[Access]:
    """Every load and store that an op does itself."""
    tensors = body.tensors
    found = []
    for expr in op.expressions():
        for load in body.loads_of(expr):
            element = element_of(load)
            found.append((element, False))
    if op.element is not None:
        found.append((op.element, True))
    return [Access(e, tensors[e.tensor], place(e.indices, tensors[e.tensor].dims), stores) for e, stores in found]
