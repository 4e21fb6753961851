"""Ops become loops: which axis runs outside, which along the vector lanes, what shares a loop, what is kept where.

A loop may be opened around a group of ops when every value that passes between them has the loop's axis, so that
position by position nothing is needed before it is there. Opening an axis around many ops turns their tiles
into scalars (or, when the loop goes along the lanes, into vectors in registers); what is left crosses loops and
gets a buffer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from akg_core.lower.ir import Axis, Body, Op, Value
from akg_core.lower.loops.cost import work
from akg_core.lower.loops.fuse import SMALL, Fusion
from akg_core.lower.loops.lanes import positions_a_turn, segments, vectors_a_turn
from akg_core.sketch.ast import Expr


@dataclass(eq=False, slots=True)
class Block:
    """Nodes in order, inside the loops in `open`; `lane` is the open axis that runs along the lanes."""

    nodes: list[Node] = field(default_factory=list)
    open: frozenset[str] = frozenset()
    lane: str | None = None
    parent: Block | None = None

    def outward(self) -> Iterator[Block]:
        block: Block | None = self
        while block is not None:
            yield block
            block = block.parent


@dataclass(eq=False, slots=True)
class Loop:
    """A loop over the positions of `axis`'s tile.

    `lanes`: a vector of positions a turn. `unroll_and_jam`: so many positions a turn, which a loop over the same axis
    further in takes one by one. `across`: it steps along memory while the lanes step across it, so that whole squares
    are loaded and transposed. `unroll`: vectors a turn; or, where that is not 0, `at_once` positions a turn. `segment`:
    the length of the pieces in which memory moves evenly.
    """

    axis: Axis
    lanes: bool
    block: Block
    ops: list[Op]
    reverse: bool = False
    unroll_and_jam: int = 0
    across: bool = False
    unroll: int = 1
    at_once: int = 0
    segment: Expr | None = None


@dataclass(eq=False, slots=True)
class Leaf:
    """An op in its place; a compound one with the blocks of its body and its else branch.

    `unroll`: vectors that a turn of the loop along the lanes around it takes.
    """

    op: Op
    block: Block
    body: Block | None = None
    orelse: Block | None = None
    unroll: int = 1


Node = Loop | Leaf
Exclusions = Mapping[Op, frozenset[str]]


@dataclass(slots=True)
class Plan:
    """The loops of one region, and where each value lives.

    `homes`: the block in which a value is declared. `kept`: the axes of its buffer, in memory order; none: a register.
    `leaves`: where each op is done. `work`: roughly the operations of one program.
    """

    root: Block
    homes: dict[Value, Block]
    kept: dict[Value, tuple[str, ...]]
    leaves: dict[Op, Leaf]
    work: int


def plan(body: Body, ops: Sequence[Op]) -> Plan:
    """Arrange the ops of one region."""
    return _Planner(body, ops).run()


class _Planner(Fusion):
    def __init__(self, body: Body, ops: Sequence[Op]) -> None:
        super().__init__(body, ops)
        self.ops = ops
        self.definitions: dict[Value, list[Block]] = {}
        self.uses: dict[Value, list[Block]] = {}
        self.lane_uses: dict[Value, dict[str, float]] = {}

    def run(self) -> Plan:
        root = Block()
        self.arrange(self.ops, root)
        homes, kept = {}, {}
        for value, blocks in self.definitions.items():
            home = homes[value] = _common([*blocks, *self.uses.get(value, [])])
            crossed = value.axes - home.open
            if crossed and home.lane is not None and home.lane in value.axes:
                crossed |= {home.lane}  # memory holds a place for each lane
            kept[value] = self.layout(value, crossed)
        leaves: dict[Op, Leaf] = {}
        self.settle(root, 1, leaves)
        return Plan(root, homes, kept, leaves, work(self.body, self.ops))

    def settle(self, block: Block, unroll: int, leaves: dict[Op, Leaf]) -> None:
        """Decide how the loops along the lanes go, now that it is known what is in them."""
        for node in block.nodes:
            if isinstance(node, Leaf):
                leaves[node.op], node.unroll = node, unroll
                for inner in (node.body, node.orelse):
                    if inner is not None:
                        self.settle(inner, unroll, leaves)
                continue
            if node.lanes and not node.reverse:
                compound = any(isinstance(inner, Leaf) and inner.op.compound for inner in node.block.nodes)
                node.unroll = 1 if compound else vectors_a_turn(self.body, node.ops, node.axis.name)
                node.at_once = 0 if compound else positions_a_turn(self.body, node.ops, node.axis.name, block.open)
                node.segment = segments(self.body, node.ops, node.axis.name)
            self.settle(node.block, node.unroll if node.lanes else unroll, leaves)

    # --- loops ---

    def arrange(self, ops: Sequence[Op], block: Block, excluded: Exclusions = MappingProxyType({})) -> None:
        """Put ops into a block, in loops. `excluded`: axes that no loop right here may open around an op."""
        for group, axes in self.groups(ops, block.open, excluded):
            if not axes:
                for op in group:
                    self.put(op, block)
                continue
            self.open_loop(group, axes, block, excluded)

    def open_loop(self, group: list[Op], axes: frozenset[str], block: Block, excluded: Exclusions) -> None:
        """Choose the axis and the shape of a loop around a group: what does not go along the lanes goes outside."""
        along, across = self.lane_weights(group, axes, block.open)
        best = self.preferred(group, axes)
        conflicting = [a for a in axes if along[a] == across[a] and (a != best or len(axes) == 1)]
        scalar = [a for a in axes if block.lane is not None or along[a] < across[a] or a in conflicting]
        if scalar:
            square = self.square(group, axes) if block.lane is None else ()
            rest = [a for a in scalar if a not in square] or scalar
            outermost = max(rest, key=lambda a: (self.stride(group, a), self.length(a), a))
            if outermost in square:
                self.across(group, square, block)
            elif block.lane is None and self.jams(group, outermost, block.open):
                self.unroll_and_jam(group, outermost, block)
            else:
                self.loop(group, outermost, False, block)
            return
        axis = max(axes, key=lambda a: (along[a], a))
        inner = [p for p in group if self.turns_inside(p, axis, block.open) > 1]
        if any(not self.near(p, axis, block.open) or axis in p.over for p in inner):
            bars = dict(excluded)
            for p in inner:
                if p.compound or self.fusible(p, block.open) - excluded.get(p, frozenset()) - {axis}:
                    bars[p] = excluded.get(p, frozenset()) | {axis}
            if bars != excluded:
                self.arrange(group, block, bars)
                return
        self.loop(group, axis, self.length(axis) >= 4, block)

    def loop(self, group: list[Op], axis: str, lanes: bool, block: Block) -> None:
        inner = Block(open=block.open | {axis}, lane=axis if lanes else block.lane, parent=block)
        block.nodes.append(Loop(self.body.axes[axis], lanes, inner, group, _backwards(group, axis)))
        for op in group:
            target = op.target if op.kind == "reduce" else None
            if target is not None and axis in op.over and not set(op.over) & block.open:
                self.definitions.setdefault(target, []).append(block)
        self.arrange(group, inner)

    def unroll_and_jam(self, group: list[Op], axis: str, block: Block) -> None:
        """Loops over blocks of `axis`, then along the lanes, then over the positions of a block."""
        lane = self.lane_axis(group[0], block.open)
        assert lane is not None
        outer = Block(open=block.open, parent=block)
        block.nodes.append(Loop(self.body.axes[axis], False, outer, group, unroll_and_jam=SMALL))
        for op in group:
            self.definitions.setdefault(op.result, []).append(block)
        self.loop(group, lane, True, outer)

    def across(self, group: list[Op], square: tuple[str, ...], block: Block) -> None:
        """A loop along the lanes around one along memory."""
        lane, axis = square
        outer = Block(open=block.open | {lane}, lane=lane, parent=block)
        block.nodes.append(Loop(self.body.axes[lane], True, outer, group, _backwards(group, lane)))
        self.loop(group, axis, False, outer)
        inner = outer.nodes[-1]
        assert isinstance(inner, Loop)
        inner.across = not inner.reverse

    def put(self, op: Op, block: Block) -> None:
        """An op at its place, all of its axes open; a loop or branch with its own blocks."""
        node = Leaf(op, block)
        block.nodes.append(node)
        if op.compound:
            node.body = Block(open=block.open, lane=block.lane, parent=block)
            node.orelse = Block(open=block.open, lane=block.lane, parent=block)
            self.arrange(op.body, node.body)
            self.arrange(op.orelse, node.orelse)
        for expr in op.expressions():
            for value in self.body.values_of(expr):
                self.use(value, block, self.weight(op))
        target = op.target
        if target is not None and op.kind != "range":
            reduced = op.kind == "reduce" and set(op.over) & block.open
            if not reduced:
                self.definitions.setdefault(target, []).append(block)
            self.use(target, block, self.weight(op))
            if op.kind == "dot":
                rows, columns = self.matrix_axes(op)
                self.prefer(target, columns, 1e18)
                self.prefer(target, rows, 1e17)
            elif op.kind == "sort":
                for tile in (target, *op.reads):
                    self.prefer(tile, op.over[0], 1e18)

    def use(self, value: Value, block: Block, weight: float) -> None:
        self.uses.setdefault(value, []).append(block)
        if block.lane is not None:
            self.prefer(value, block.lane, weight)

    def prefer(self, value: Value, axis: str, weight: float) -> None:
        scores = self.lane_uses.setdefault(value, {})
        scores[axis] = scores.get(axis, 0.0) + weight

    def layout(self, value: Value, axes: frozenset[str]) -> tuple[str, ...]:
        """The axes of a buffer in memory order: last the one along which vectors go."""
        scores = self.lane_uses.get(value, {})
        return tuple(sorted(axes, key=lambda a: (scores.get(a, 0.0), a)))


def _backwards(group: Sequence[Op], axis: str) -> bool:
    return any(p.reverse and axis in p.over for p in group if p.kind == "scan")


def _common(blocks: Sequence[Block]) -> Block:
    """The innermost block around all of `blocks`."""
    for candidate in blocks[0].outward():
        if all(candidate in block.outward() for block in blocks):
            return candidate
    raise AssertionError("blocks of one region have a common root")
