"""What a loop along the lanes may count on: where memory moves evenly, and how many vectors a turn takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from akg_core.lower.access import accesses, place, segment, step
from akg_core.lower.ir import Body, Op, element_of, inside
from akg_core.sketch.affine import Polynomial, number
from akg_core.sketch.ast import Binary, Call, Expr, Name, Number

FEW = 4  # positions for which a vector of their own is worse than a gather
_IN_REGISTERS = 128  # numbers, of which there may be a vector a register
_COMBINED = frozenset({"reduce_sum", "reduce_prod", "reduce_max", "reduce_min"})


def vectors_a_turn(body: Body, ops: Iterable[Op], axis: str) -> int:
    """Several vectors a turn where a reduction would wait for itself, unless the work between is long."""
    done = tuple(ops)
    if not any(op.kind == "reduce" and axis in op.over and op.function in _COMBINED for op in done):
        return 1
    if any(op.kind == "scan" for op in done):
        return 1
    work = sum(body.cost(expr) for op in done for expr in op.expressions())
    return 4 if work <= 16 else 2 if work <= 48 else 1


def positions_a_turn(body: Body, ops: Iterable[Op], axis: str, open: frozenset[str]) -> int:
    """How many positions, a power of two, a turn should take where that keeps in registers what is carried from turn
    to turn of a loop around it; 0 where nothing is, or too much is done. `open`: the axes of the loops around it."""
    done = tuple(ops)
    capacity = body.axes[axis].capacity
    across = any(op.kind in ("reduce", "scan") and axis in op.over for op in done)
    if capacity is None or across or not any(_is_carried(op, axis, open) for op in done):
        return 0
    work = sum(body.cost(expr) for op in done for expr in op.expressions())
    return min(capacity & -capacity, _IN_REGISTERS) if work <= 16 else 0


def _is_carried(op: Op, axis: str, open: frozenset[str]) -> bool:
    """Whether an op changes something that has a place for each position of the axis and lives on."""
    if op.target is None or axis not in op.target.axes:
        return False
    return op.target.mutable or (op.kind == "reduce" and op.function in _COMBINED and not open.isdisjoint(op.over))


def segments(body: Body, ops: Iterable[Op], axis: str) -> Expr | None:
    """The length of the segments in which everything in a loop moves evenly; None where that is so anyway."""
    every = list(inside(ops))
    needed = False
    for op in every:
        for access in accesses(body, op):
            proved = all(map(body.bounds.within, access.element.indices, access.tensor.dims))
            needed |= step(body, access.place, axis) is None or not proved
        needed |= any(segment(body, [e], axis) is not None for expr in op.expressions() for e in _values(expr))
    if not needed:
        return None
    length = segment(body, (expr for op in every for expr in op.expressions()), axis)
    return None if isinstance(length, Number) and length.value < FEW else length


def squares(body: Body, ops: Iterable[Op], lane: str, axis: str) -> Iterator[tuple[Call, Polynomial, Polynomial]]:
    """The loads that go along memory with `axis` while the lanes step across it: each with its place and its step."""
    tensors = body.tensors
    for call in dict.fromkeys(c for op in ops for expr in op.expressions() for c in body.loads_of(expr)):
        element = element_of(call)
        tensor = tensors[element.tensor]
        where = place(element.indices, tensor.dims)
        by, along = step(body, where, lane), step(body, where, axis)
        proved = all(map(body.bounds.within, element.indices, tensor.dims))
        if proved and tensor.role == "In" and along == number(1) and by is not None and by.constant not in (0, 1):
            yield call, where, by


def on_lines(body: Body, where: Polynomial, axis: str, length: Expr | None, lanes: int) -> bool:
    """Whether vectors along `axis`, in segments of `length`, certainly start at multiples of `lanes` elements."""
    found = body.axes[axis]
    starts = [found.begin if found.step is None else found.step, *([] if length is None else [length])]
    apart = [factor for product, factor in where.terms if product != (Name(axis),)]
    whole = all(isinstance(start, Number) and start.value % lanes == 0 for start in starts)
    return whole and all(factor % lanes == 0 for factor in apart)


def _values(expr: Expr) -> Iterator[Expr]:
    """The parts of an expression that are values rather than places in tensors."""
    if isinstance(expr, Binary):
        yield expr
    elif isinstance(expr, Call) and expr.op != "load":
        for argument in expr.args:
            yield from _values(argument)
