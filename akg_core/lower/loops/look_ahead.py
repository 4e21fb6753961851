"""Rows at places that another tensor holds: what a few turns of a loop later is read, or added to, is known ahead.

A processor finds out early by itself what moves evenly. What is looked up it asks memory for when the place is there,
and waits; a core's cache holds small tables anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from akg_core.dtypes import DTYPES
from akg_core.lower.access import Access, accesses, place, step
from akg_core.lower.fold import product
from akg_core.lower.ir import Body, Op, element_of, inside
from akg_core.lower.loops.cost import length
from akg_core.lower.loops.lane_access import formulas, length_spelled, spelled
from akg_core.sketch.affine import Polynomial, polynomial
from akg_core.sketch.ast import Call, Expr, Name, Number, walk

_CACHED = 1 << 20  # bytes of a tensor of which most stays in a core's cache
_LONGEST = 256  # names in the formula of a place


@dataclass(frozen=True, slots=True)
class Lookup:
    """Rows of `tensor` that lie where `indices` say, loads of which each moves evenly from turn to turn.

    `row`: the flat place of its first element, with everything in it spelled out. `elements`: how many of them lie
    side by side.
    """

    tensor: str
    row: Polynomial
    elements: int
    indices: tuple[Call, ...]


def lookups(body: Body, ops: Iterable[Op], variable: str) -> list[Lookup]:
    """What ops look up in large tensors, by indices that a loop over `variable` goes through in order."""
    found: dict[tuple[str, Polynomial], Lookup] = {}
    known = formulas(body)
    for op in inside(ops):
        for access in accesses(body, op):
            if length_spelled(access.place, known) > _LONGEST:  # as what a binary search has found
                continue
            row, name = spelled(access.place, known, lambda _: False), access.tensor.name
            indices = tuple(dict.fromkeys(call for atom in row.atoms() for call in _loads(atom)))
            if not (indices and _is_large(body, access) and all(_goes_on(body, call, variable) for call in indices)):
                continue
            axis = next((each for each in sorted(op.iterates) if _is_contiguous(body, row, each)), None)
            if axis is not None:
                row = row + polynomial(body.axes[axis].begin) + -polynomial(Name(axis))
            elements = 1 if axis is None else length(body, axis)
            found.setdefault((name, row), Lookup(name, row, elements, indices))
    return list(found.values())


def _loads(expr: Expr) -> Iterator[Call]:
    return (node for node in walk(expr) if isinstance(node, Call) and node.op == "load")


def _is_large(body: Body, access: Access) -> bool:
    elements = product(access.tensor.dims)
    return not isinstance(elements, Number) or elements.value * DTYPES[access.tensor.dtype].size > _CACHED


def _goes_on(body: Body, index: Call, variable: str) -> bool:
    """Whether an index is a given one, certainly inside of its tensor, in which the loop steps forward."""
    element = element_of(index)
    tensor = body.tensors[element.tensor]
    if tensor.role != "In" or not all(map(body.bounds.within, element.indices, tensor.dims)):
        return False
    where = place(element.indices, tensor.dims)
    names = {node.id for atom in where.atoms() for node in walk(atom) if isinstance(node, Name)}
    if any(body.values[name].mutable for name in names & body.values.keys()):
        return False
    gain = step(body, where, variable)
    return gain is not None and gain.constant is not None and gain.constant > 0


def _is_contiguous(body: Body, row: Polynomial, axis: str) -> bool:
    gain = step(body, row, axis)
    return gain is not None and gain.constant == 1
