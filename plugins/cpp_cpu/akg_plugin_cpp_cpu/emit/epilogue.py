"""Sums of products over loops of tiles: the first products overwrite, so that nothing puts zeros there before, and what
is done with sums that one call makes follows each block of them, while it is in the nearest cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from akg_core.plugin.lower import Block, Body, Leaf, Loop, Op, Value, inside, reach
from akg_core.plugin.sketch import DTYPES, Number


@dataclass(frozen=True, slots=True)
class Sums:
    """The sums of `dots` over `loops` of tiles, the outermost first.

    `alone`: whether the innermost loop does nothing else, so that one call may take all of its tiles. `start`: the loop
    before these that puts zeros there. `epilogue`: the one after them over the elements of the sums, along `rows` and
    `columns`, which may follow each block of them. Both are None where there is no such loop.
    """

    loops: tuple[Leaf, ...]
    dots: tuple[Op, ...]
    rows: str
    columns: str
    alone: bool
    start: Loop | None
    epilogue: Loop | None


_NEAREST = 32 << 10  # bytes of the nearest cache; sums that stay in it need not be used block by block


def matrix_axes(body: Body, dot: Op) -> tuple[str, str]:
    """The rows and the columns of a product."""
    own = dot.blocked - set(dot.over)
    (rows,) = own & body.axes_of(dot.operand)
    (columns,) = own & body.axes_of(dot.second)
    return rows, columns


def beside(dots: Sequence[Op], op: Op) -> bool:
    """Whether a product is of the same left operand and over the same tile as those before it, and waits for none."""
    first = dots[0]
    alike = (op.kind, op.operand, op.over, op.accumulate, op.blocked) == (
        "dot",
        first.operand,
        first.over,
        first.accumulate,
        first.blocked,
    )
    return alike and not {dot.result for dot in dots} & {op.result, *(op.reads - {op.result}), *op.writes}


def sums_of(body: Body, block: Block) -> Iterator[Sums]:
    """The sums that a block makes."""
    nodes = block.nodes
    for number, node in enumerate(nodes):
        if not isinstance(node, Leaf) or node.op.kind not in ("tiles", "dot"):
            continue
        loops, last = _loops(body, node)
        dots = _dots(last.nodes if loops else nodes[: number + 1])
        start = nodes[number - 1] if number else None
        after = nodes[number + 1] if number + 1 < len(nodes) else None
        if not dots or len(dots[0].over) != 1 or (isinstance(after, Leaf) and not loops and beside(dots, after.op)):
            continue
        rows, columns = matrix_axes(body, dots[0])
        done = list(inside([loops[0].op] if loops else dots))
        alone = bool(loops) and len(last.nodes) == len(dots)
        if not (isinstance(start, Loop) and loops and _only_zeros(start, dots, done)):
            start = None
        once = not loops or (alone and len(loops) == 1)
        if not (once and isinstance(after, Loop) and _is_epilogue(body, after, dots, (rows, columns), done)):
            after = None
        yield Sums(tuple(loops), tuple(dots), rows, columns, alone, start, after)


def _bytes(body: Body, sums: Value) -> int:
    return prod(body.axes[axis].capacity or _NEAREST for axis in sums.axes) * DTYPES[sums.dtype].size


def _loops(body: Body, node: Leaf) -> tuple[list[Leaf], Block]:
    """The loops of tiles that end with one another, each of at least one turn, and the body of the innermost."""
    loops, block = list[Leaf](), node.block
    last: Leaf | Loop | None = node
    while isinstance(last, Leaf) and last.op.kind == "tiles" and last.body and _has_turns(body, last.op):
        loops.append(last)
        block = last.body
        last = block.nodes[-1] if block.nodes else None
    return loops, block


def _has_turns(body: Body, loop: Op) -> bool:
    """Whether a loop goes forward from a tile that is certainly there."""
    low, high = body.bounds.interval(loop.bounds[0])
    ends = [body.bounds.interval(end)[0] for end in (loop.bounds[1], loop.tiled.extent)]
    return (
        not loop.reverse
        and low is not None
        and low >= 0
        and all(high is not None and e is not None and high < e for e in ends)
    )


def _dots(nodes: Sequence[Leaf | Loop]) -> list[Op]:
    """The products of one left operand that nodes end with."""
    dots: list[Op] = []
    for node in nodes:
        if not isinstance(node, Leaf) or node.op.kind != "dot":
            dots = []
        elif dots and beside(dots, node.op):
            dots.append(node.op)
        else:
            dots = [node.op]
    return dots


def _only_zeros(loop: Loop, dots: Sequence[Op], done: Sequence[Op]) -> bool:
    """Whether a loop does no more than to put zeros where the products are summed, which nothing else touches."""
    zeroed: set[Value] = set()
    for leaf in _leaves(loop):
        operand = leaf.op.expr
        if leaf.op.kind != "map" or not isinstance(operand, Number) or operand.value != 0:
            return False
        zeroed.add(leaf.op.result)
    others = (op for op in done if op not in dots and not op.compound)
    touched = {value for op in others for value in (*op.reads, *op.writes)}
    results = {dot.result for dot in dots}
    return zeroed == results and results.isdisjoint(touched) and all(dot.accumulate for dot in dots)


def _is_epilogue(body: Body, loop: Loop, dots: Sequence[Op], axes: tuple[str, str], done: Sequence[Op]) -> bool:
    """Whether a loop over rows, then along columns, treats each element by itself, is all that reads the sums, too many
    for the nearest cache, and stores nothing that is read for them. `done`: all that makes these."""
    rows, columns = axes
    if loop.axis.name != rows or not _is_plain(loop) or loop.lanes:
        return False
    *before, inner = loop.block.nodes
    if not isinstance(inner, Loop) or inner.axis.name != columns or not _is_plain(inner) or not inner.lanes:
        return False
    if not all(isinstance(node, Leaf) and node.op.kind == "map" and not node.op.result.mutable for node in before):
        return False
    for node in inner.block.nodes:
        if not isinstance(node, Leaf) or node.op.kind not in ("map", "store"):
            return False
        if node.op.kind == "store" and node.op.function not in ("", "store"):
            return False
        if any(value.mutable for value in node.op.writes):
            return False
    results = {dot.result for dot in dots}
    made, here = {*done}, {*inside(loop.ops)}
    if any(op.reads & results and op not in made and op not in here for op in body.ops()):
        return False
    if sum(_bytes(body, sums) for sums in results) <= _NEAREST or any(sums.axes != {*axes} for sums in results):
        return False
    read = {tensor for op in done for tensor in op.loaded}
    return all(_is_whole(body, loop.ops, axis) for axis in axes) and not any(op.stored & read for op in here)


def _is_plain(loop: Loop) -> bool:
    return not (loop.reverse or loop.unroll_and_jam or loop.across)


def _is_whole(body: Body, ops: Sequence[Op], axis: str) -> bool:
    """Whether no part of a tile is left out because nothing is stored there."""
    used, capacity = reach(body, ops, axis), body.axes[axis].capacity
    return used is None or (capacity is not None and used >= capacity)


def _leaves(loop: Loop) -> Iterator[Leaf]:
    for node in loop.block.nodes:
        if isinstance(node, Loop):
            yield from _leaves(node)
        else:
            yield node
