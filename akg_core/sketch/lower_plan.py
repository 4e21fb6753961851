"""Pieces become loops: which axis runs outside, which along the vector lanes, what shares a loop, what is kept where.

A loop may be opened around a group of pieces when every value that passes between them has the loop's axis, so that
position by position nothing is needed before it is there. Opening an axis around many pieces turns their tiles
into scalars (or, when the loop goes along the lanes, into vectors in registers); what is left crosses loops and
gets a buffer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from akg_core.sketch.ast import Name, Number
from akg_core.sketch.lower_access import accesses, segment, step
from akg_core.sketch.lower_index import Polynomial
from akg_core.sketch.lower_pieces import Axis, Body, Piece, Value

UNKNOWN = 1024  # positions assumed for an axis whose length is known at launch only
SMALL = 16  # turns of inner loops that may run inside a loop along the lanes


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

    `lanes`: a vector of positions a turn. `jam`: so many positions a turn, which a loop over the same axis further in
    takes one by one. `across`: it steps along memory while the lanes step across it, so that whole squares
    are loaded and transposed.
    """

    axis: Axis
    lanes: bool
    block: Block
    pieces: list[Piece]
    reverse: bool = False
    jam: int = 0
    across: bool = False


@dataclass(eq=False, slots=True)
class Step:
    """A piece in its place; a compound one with the blocks of its body and its else branch."""

    piece: Piece
    block: Block
    body: Block | None = None
    orelse: Block | None = None


Node = Loop | Step
Bars = Mapping[Piece, frozenset[str]]


@dataclass(slots=True)
class Plan:
    """The loops of one region, and where each value lives.

    `homes`: the block in which a value is declared. `kept`: the axes of its buffer, in memory order; none: a register.
    """

    root: Block
    homes: dict[Value, Block]
    kept: dict[Value, tuple[str, ...]]


def plan(body: Body, pieces: Sequence[Piece]) -> Plan:
    """Arrange the pieces of one region."""
    return _Planner(body, pieces).run()


class _Planner:
    def __init__(self, body: Body, pieces: Sequence[Piece]) -> None:
        self.body = body
        self.pieces = list(pieces)
        self.votes: dict[Piece, dict[str, float]] = {}
        self.totals: dict[str, float] = {}
        self.definitions: dict[Value, list[Block]] = {}
        self.uses: dict[Value, list[Block]] = {}
        self.lane_uses: dict[Value, dict[str, float]] = {}

    def run(self) -> Plan:
        for piece in self.pieces:
            for inner in piece.inside():
                self.vote(inner)
        for piece in self.pieces:
            for inner in piece.inside():
                self.orient(inner)
        root = Block()
        self.arrange(self.pieces, root)
        homes, kept = {}, {}
        for value, blocks in self.definitions.items():
            home = _common([*blocks, *self.uses.get(value, [])])
            homes[value] = home
            crossed = value.axes - home.open
            if crossed and home.lane in value.axes:
                crossed |= {home.lane}  # memory holds a place for each lane
            kept[value] = self.layout(value, crossed)
        return Plan(root, homes, kept)

    # --- which axis runs along the lanes ------------------------------------------------------------------

    def length(self, axis: str) -> int:
        return self.body.axes[axis].capacity or UNKNOWN

    def weight(self, piece: Piece, open: frozenset[str] = frozenset()) -> float:
        """How often the piece is done, and how much it does."""
        turns = 1.0
        for axis in piece.iterates - open:
            turns *= self.length(axis)
        return turns

    def vote(self, piece: Piece) -> None:
        """Score each axis of a piece as the one along the lanes: unit steps in memory are what counts."""
        scores: dict[str, float] = {}
        if piece.compound or piece.kind == "meet":
            return
        found = accesses(self.body, piece)
        for axis in piece.iterates - piece.blocked:
            short = segment(self.body, (i for a in found for i in a.element.indices), axis)
            scores[axis] = 0.0
            for access in found:
                gain = step(self.body, access.place, axis, short)
                weight = 1.5 if access.stores else 1.0
                if gain is None:
                    scores[axis] -= weight
                elif gain.constant == 1:
                    even = step(self.body, access.place, axis) is not None
                    scores[axis] += 3 * weight if even else 2 * weight
                elif gain.constant != 0:
                    scores[axis] -= weight
            if self.length(axis) < 4:
                scores[axis] -= 6
        self.votes[piece] = scores
        for axis, score in scores.items():
            self.totals[axis] = self.totals.get(axis, 0.0) + score * self.weight(piece)

    def orient(self, piece: Piece) -> None:
        """Let the columns of a matrix product be the axis along which its result is used."""
        if piece.kind != "dot":
            return
        assert piece.expr is not None and piece.other is not None
        rows, columns = self.matrix_axes(piece)
        if self.totals.get(rows, 0.0) > self.totals.get(columns, 0.0):
            piece.expr, piece.other = piece.other, piece.expr

    def matrix_axes(self, piece: Piece) -> tuple[str, str]:
        """The rows and the columns of a matrix product."""
        assert piece.expr is not None and piece.other is not None
        own = piece.blocked - set(piece.over)
        (rows,) = own & self.body.axes_of(piece.expr)
        (columns,) = own & self.body.axes_of(piece.other)
        return rows, columns

    def lane_axis(self, piece: Piece, open: frozenset[str]) -> str | None:
        """The best axis along the lanes among those of a piece that are not open."""
        axes = sorted(piece.iterates - piece.blocked - open)
        if not axes or piece.kind == "dot":
            return None
        scores = self.votes.get(piece, {})
        return max(axes, key=lambda a: (scores.get(a, 0.0), self.totals.get(a, 0.0), self.length(a)))

    # --- which loops may be shared ------------------------------------------------------------------------

    def openable(self, piece: Piece, open: frozenset[str]) -> frozenset[str]:
        """The axes that a loop right around a piece may open."""
        if not piece.compound:
            return piece.iterates - piece.blocked - open
        leaves = [p for p in piece.inside() if not p.compound]
        own = {p.axis.name for p in piece.inside() if p.axis is not None}
        axes = frozenset().union(*(p.iterates for p in leaves)) - open - own
        return frozenset(a for a in axes if all(self.passes(p, a, open) for p in piece.inside()))

    def passes(self, piece: Piece, axis: str, open: frozenset[str]) -> bool:
        """Whether a loop over `axis` around a loop or branch may go through this piece inside it."""
        if piece.compound:
            return True
        if axis in piece.over or axis in piece.blocked or piece.kind == "meet":
            return False
        if axis in piece.iterates:
            return True
        # computed again for each position: only a scalar that stays inside
        return not (piece.iterates - open) and piece.kind != "store" and not any(v.mutable for v in piece.writes)

    def fusable(self, first: Piece, second: Piece, axes: Iterable[str]) -> frozenset[str] | None:
        """The axes among `axes` along which `second` may follow `first` in one loop; None when they are independent."""
        passed = (first.writes & second.reads) | (first.reads & second.writes) | (first.writes & second.writes)
        tensors = (first.stored & second.loaded) | (first.loaded & second.stored)
        tensors |= {t for t in first.stored & second.stored if self.role(t) != "Out"}
        if not passed and not tensors:
            return None
        allowed = frozenset(axes)
        for value in passed:
            allowed &= value.axes
        if tensors:
            allowed &= self.same_places(first, second, tensors)
        return allowed

    def role(self, tensor: str) -> str:
        return next(t.role for t in self.body.kernel.tensors if t.name == tensor)

    def same_places(self, first: Piece, second: Piece, tensors: Iterable[str]) -> frozenset[str]:
        """The axes along which two pieces touch the same elements of `tensors`, each position its own."""
        allowed: frozenset[str] | None = None
        for tensor in tensors:
            places = {
                access.element.indices
                for leaf in (*first.inside(), *second.inside())
                for access in accesses(self.body, leaf)
                if access.element.tensor == tensor
            }
            if len(places) != 1:
                return frozenset()
            named = frozenset(i.id for i in next(iter(places)) if isinstance(i, Name) and i.id in self.body.axes)
            allowed = named if allowed is None else allowed & named
        return allowed or frozenset()

    # --- groups and loops ---------------------------------------------------------------------------------

    def arrange(self, pieces: Sequence[Piece], block: Block, barred: Bars = MappingProxyType({})) -> None:
        """Put pieces into a block, in loops. `barred`: axes that no loop right here may open around a piece."""
        for group, axes in self.groups(pieces, block, barred):
            if not axes:
                for piece in group:
                    self.put(piece, block)
                continue
            self.open_loop(group, axes, block, barred)

    def groups(
        self, pieces: Sequence[Piece], block: Block, barred: Bars
    ) -> list[tuple[list[Piece], frozenset[str]]]:
        """Pieces that can share a loop, in an order that keeps every dependency, with the axes that they share."""
        groups: list[tuple[list[Piece], frozenset[str]]] = []
        for piece in pieces:
            wide = self.openable(piece, block.open) - barred.get(piece, frozenset())
            earliest, shared = 0, list(self.compatible(groups, piece, wide, block.open))
            for number, (group, _) in enumerate(groups):
                dependent = any(self.fusable(p, piece, ()) is not None for p in group)
                if dependent:
                    earliest = number if shared[number] else number + 1
            home = next((n for n in range(earliest, len(groups)) if shared[n]), None)
            if home is not None:
                groups[home] = ([*groups[home][0], piece], shared[home])
            elif wide or piece.compound:
                groups.append(([piece], wide))
            else:
                while earliest < len(groups) and not groups[earliest][1]:
                    earliest += 1
                groups.insert(earliest, ([piece], wide))
        return groups

    def compatible(
        self,
        groups: Sequence[tuple[list[Piece], frozenset[str]]],
        piece: Piece,
        wide: frozenset[str],
        open: frozenset[str],
    ) -> Iterator[frozenset[str]]:
        """For each group the axes that it would still share with `piece` in it."""
        for group, axes in groups:
            allowed = axes & wide
            for other in group:
                if allowed:
                    limit = self.fusable(other, piece, allowed)
                    allowed = allowed - self.torn(other, piece, open) if limit is None else limit
                    allowed -= _opposed(other, piece)
            yield allowed

    def torn(self, first: Piece, second: Piece, open: frozenset[str]) -> frozenset[str]:
        """The axes that one of two independent pieces wants along the lanes and the other, just as wide, does not."""
        if any(p.compound or len(p.iterates - open) < 2 for p in (first, second)):
            return frozenset()
        wanted = {self.lane_axis(first, open), self.lane_axis(second, open)} - {None}
        return frozenset(a for a in wanted if a is not None) if len(wanted) > 1 else frozenset()

    def open_loop(self, group: list[Piece], axes: frozenset[str], block: Block, barred: Bars) -> None:
        along, across = self.lane_weights(group, axes, block)
        best = self.favourite(group, axes)
        scalar = [a for a in axes if block.lane is not None or along[a] < across[a] or (along[a] == across[a] and (a != best or len(axes) == 1))]
        if scalar:
            square = self.square(group, axes, block)
            rest = [a for a in scalar if a not in square] or scalar
            outermost = max(rest, key=lambda a: (self.stride(group, a), self.length(a), a))
            if outermost in square:
                self.across(group, square, block)
            elif self.jams(group, outermost, block):
                self.jam(group, outermost, block)
            else:
                self.loop(group, outermost, False, block)
            return
        axis = max(axes, key=lambda a: (along[a], a))
        inner = [p for p in group if self.turns_inside(p, axis, block.open) > 1]
        if any(self.turns_inside(p, axis, block.open) > SMALL or axis in p.over for p in inner):
            bars = dict(barred)
            for p in inner:
                if p.compound or self.openable(p, block.open) - barred.get(p, frozenset()) - {axis}:
                    bars[p] = barred.get(p, frozenset()) | {axis}
            if bars != barred:
                self.arrange(group, block, bars)
                return
        self.loop(group, axis, self.length(axis) >= 4, block)

    def loop(self, group: list[Piece], axis: str, lanes: bool, block: Block) -> None:
        inner = Block(open=block.open | {axis}, lane=axis if lanes else block.lane, parent=block)
        block.nodes.append(Loop(self.body.axes[axis], lanes, inner, group, _backwards(group, axis)))
        for piece in group:
            if piece.kind == "reduce" and axis in piece.over and not set(piece.over) & block.open:
                self.definitions.setdefault(piece.target, []).append(block)  # type: ignore[arg-type]
        self.arrange(group, inner)

    def jams(self, group: Sequence[Piece], axis: str, block: Block) -> bool:
        """Whether a loop reduces `axis` into a buffer along the lanes: it should add several positions a visit."""
        return block.lane is None and all(
            p.kind == "reduce"
            and axis in p.over
            and p.op not in ("first", "last")
            and p.iterates - block.open - {axis} == {self.lane_axis(p, block.open)} - set(p.over)
            for p in group
        )

    def jam(self, group: list[Piece], axis: str, block: Block) -> None:
        """Loops over blocks of `axis`, then along the lanes, then over the positions of a block."""
        lane = self.lane_axis(group[0], block.open)
        assert lane is not None
        outer = Block(open=block.open, parent=block)
        block.nodes.append(Loop(self.body.axes[axis], False, outer, group, jam=SMALL))
        for piece in group:
            assert piece.target is not None
            self.definitions.setdefault(piece.target, []).append(block)
        self.loop(group, lane, True, outer)

    def square(self, group: Sequence[Piece], axes: frozenset[str], block: Block) -> tuple[str, ...]:
        """(lane axis, other axis) when loads are contiguous along the other axis of a group only."""
        if block.lane is not None or any(p.compound for p in group):
            return ()
        lane = self.favourite(group, axes)
        if self.length(lane) < 8 or any(p.kind == "dot" for p in group):
            return ()
        for axis in sorted(axes - {lane}):
            if self.length(axis) >= 8 and any(
                self.crosses(access.place, lane, axis) and not access.stores
                for piece in group
                for access in accesses(self.body, piece)
            ):
                return lane, axis
        return ()

    def favourite(self, group: Sequence[Piece], axes: frozenset[str]) -> str:
        """The axis that a group as a whole would best have along the lanes."""
        leaves = [leaf for piece in group for leaf in piece.inside() if leaf in self.votes]
        score = {a: sum(self.votes[leaf].get(a, 0.0) * self.weight(leaf) for leaf in leaves) for a in axes}
        return max(axes, key=lambda a: (score[a], a))

    def crosses(self, place: Polynomial, lane: str, axis: str) -> bool:
        """Whether a place steps by 1 along `axis` and by more along `lane`."""
        along, by = step(self.body, place, axis), step(self.body, place, lane)
        return along is not None and along.constant == 1 and by is not None and by.constant not in (0, 1)

    def across(self, group: list[Piece], square: tuple[str, ...], block: Block) -> None:
        """A loop along the lanes around one along memory."""
        lane, axis = square
        outer = Block(open=block.open | {lane}, lane=lane, parent=block)
        block.nodes.append(Loop(self.body.axes[lane], True, outer, group, _backwards(group, lane)))
        self.loop(group, axis, False, outer)
        inner = outer.nodes[-1]
        assert isinstance(inner, Loop)
        inner.across = not inner.reverse

    def put(self, piece: Piece, block: Block) -> None:
        """A piece at its place, all of its axes open; a loop or branch with its own blocks."""
        node = Step(piece, block)
        block.nodes.append(node)
        if piece.compound:
            node.body = Block(open=block.open, lane=block.lane, parent=block)
            node.orelse = Block(open=block.open, lane=block.lane, parent=block)
            self.arrange(piece.body, node.body)
            self.arrange(piece.orelse, node.orelse)
        for expr in piece.expressions():
            for value in self.body.values_of(expr):
                self.use(value, block, self.weight(piece))
        target = piece.target
        if target is not None and piece.kind != "range":
            reduced = piece.kind == "reduce" and set(piece.over) & block.open
            if not reduced:
                self.definitions.setdefault(target, []).append(block)
            self.use(target, block, self.weight(piece))
            if piece.kind == "dot":
                rows, columns = self.matrix_axes(piece)
                self.prefer(target, columns, 1e18)
                self.prefer(target, rows, 1e17)

    def use(self, value: Value, block: Block, weight: float) -> None:
        self.uses.setdefault(value, []).append(block)
        if block.lane is not None:
            self.prefer(value, block.lane, weight)

    def prefer(self, value: Value, axis: str, weight: float) -> None:
        scores = self.lane_uses.setdefault(value, {})
        scores[axis] = scores.get(axis, 0.0) + weight

    def lane_weights(
        self, group: Sequence[Piece], axes: frozenset[str], block: Block
    ) -> tuple[dict[str, float], dict[str, float]]:
        """For each axis, how much of the group's work wants it along the lanes, and how much another of its axes."""
        along, across = dict.fromkeys(axes, 0.0), dict.fromkeys(axes, 0.0)
        for piece in group:
            for leaf in piece.inside():
                if leaf.compound:
                    continue
                wanted = self.lane_axis(leaf, block.open)
                for axis in axes & leaf.iterates:
                    (along if axis == wanted else across)[axis] += self.weight(leaf, block.open)
        return along, across

    def turns_inside(self, piece: Piece, axis: str, open: frozenset[str]) -> float:
        """How many turns loops inside a loop over `axis` would take for one position."""
        if piece.kind == "tiles" and piece.axis is not None:
            extent, size = piece.axis.extent, piece.axis.capacity or UNKNOWN
            own = -(-int(extent.value) // size) if isinstance(extent, Number) else UNKNOWN
        elif piece.kind == "range":
            start, stop, by = (int(b.value) if isinstance(b, Number) else None for b in piece.bounds)
            own = UNKNOWN if start is None or stop is None or by is None else len(range(start, stop, by))
        elif piece.compound:
            own = 1
        else:
            turns = 1.0
            for other in piece.iterates - open - {axis}:
                turns *= self.length(other)
            return turns
        inner = max((self.turns_inside(p, axis, open) for p in (*piece.body, *piece.orelse)), default=1.0)
        return own * inner

    def stride(self, group: Sequence[Piece], axis: str) -> float:
        """How far apart in memory neighbours along the axis are, at most."""
        widest = 0.0
        for piece in group:
            for leaf in piece.inside():
                for access in accesses(self.body, leaf) if axis in leaf.iterates else ():
                    gain = step(self.body, access.place, axis)
                    if gain is not None and gain.constant is not None:
                        widest = max(widest, abs(float(gain.constant)))
                    elif gain is not None:
                        widest = max(widest, 1e6 * max(len(product) for product, _ in gain.terms))
        return widest

    def layout(self, value: Value, axes: frozenset[str]) -> tuple[str, ...]:
        """The axes of a buffer in memory order: last the one along which vectors go."""
        scores = self.lane_uses.get(value, {})
        return tuple(sorted(axes, key=lambda a: (scores.get(a, 0.0), a)))


def _opposed(first: Piece, second: Piece) -> frozenset[str]:
    """The axes along which two scans go opposite ways."""
    if first.kind == second.kind == "scan" and first.reverse != second.reverse:
        return frozenset(first.over) & frozenset(second.over)
    return frozenset()


def _backwards(group: Sequence[Piece], axis: str) -> bool:
    return any(p.reverse and axis in p.over for p in group if p.kind == "scan")


def _common(blocks: Sequence[Block]) -> Block:
    """The innermost block around all of `blocks`."""
    for candidate in blocks[0].outward():
        if all(candidate in block.outward() for block in blocks):
            return candidate
    raise AssertionError("blocks of one region have a common root")
