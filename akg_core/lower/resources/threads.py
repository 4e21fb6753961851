"""Warps of a program: a thread for so many elements of its largest tile as registers hold comfortably."""

from __future__ import annotations

from akg_core.lower.ir import Body, Op, Region
from akg_core.lower.products import is_matrix_product, strategy_of
from akg_core.lower.resources.limits import ProgramLimits
from akg_core.lower.tile.order import accesses
from akg_core.sketch.ast import Binary, Call, Number, Unary, walk

_LARGE_PRODUCT = 64 * 128  # elements of a result on matrix units, from which on four warps hold too few


def warps_of(body: Body, region: Region, limits: ProgramLimits, stages: int, turns: int) -> int:
    """As the sketch says, else by the largest tile. `stages`: the most of a loop; `turns`: that it takes in a row."""
    hint = next((axis.hints["warps"] for axis in reversed(region.grid) if "warps" in axis.hints), None)
    if isinstance(hint, Number):
        return max(1, 1 << (int(hint.value).bit_length() - 1))
    ops = list(region.inside())
    if products := [op for op in ops if is_matrix_product(op)]:
        return max(_of_product(body, op, limits) for op in products)
    if sorts := [op for op in ops if op.kind == "sort"]:  # what changes places between warps goes through memory
        return min(max(1, max(_lanes(body, op) for op in sorts) // (32 * limits.lanes)), limits.warps)
    largest = max([1, *(body.lanes_of(a.axes) for a in accesses(body, region.ops)), *_computed(body, ops)])
    room = limits.elements
    if any(axis.single for axis in body.axes.values()):
        room //= 8  # reads the same places again and again: many warps hide what that takes
    elif any(axis.cooperative for axis in region.grid if not axis.has_one_tile):
        room *= 2  # fewer warps leave room for more programs, of which some always wait
    least = min(4, max(largest // limits.lanes, 1))  # a thread for every element, when there are so few
    if stages > 1:  # what is under way is in no register
        room, least = 2 * room, 1
    return min(max(least, 1 << max(largest * turns // room, 1).bit_length() - 1), limits.warps)


def _of_product(body: Body, op: Op, limits: ProgramLimits) -> int:
    lanes = _lanes(body, op)
    if strategy_of(op, limits.dot_strategies).exact:
        return min(max(4, lanes // (32 * limits.lanes)), limits.warps)
    return 8 if lanes > _LARGE_PRODUCT else 4


def _lanes(body: Body, op: Op) -> int:
    """Elements of the tile that an op makes."""
    return body.lanes_of(op.result.axes)


def _computed(body: Body, ops: list[Op]) -> list[int]:
    """Elements of each tile that ops compute within their expressions."""
    nodes = (node for op in ops for expr in op.expressions() for node in walk(expr))
    made = (
        node
        for node in nodes
        if isinstance(node, (Binary, Unary)) or (isinstance(node, Call) and node.op not in ("cast", "load"))
    )
    return [body.lanes_of(body.axes_of(node)) for node in made]
