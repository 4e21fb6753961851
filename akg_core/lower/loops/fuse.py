"""Which ops may share a loop, and which axis suits the vector lanes: the judgements that `nest` acts on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod

from akg_core.lower.access import accesses, segment, step
from akg_core.lower.ir import Body, Op, inside
from akg_core.lower.loops.cost import length, turns
from akg_core.sketch.affine import Polynomial
from akg_core.sketch.ast import Name, Number

SMALL = 16  # turns of inner loops that may run inside a loop along the lanes
Group = tuple[list[Op], frozenset[str]]  # ops that share a loop, and the axes that it may run over


class Fusion:
    """Judges the ops of one region."""

    def __init__(self, body: Body, ops: Sequence[Op]) -> None:
        self.body = body
        self.lane_scores: dict[Op, dict[str, float]] = {}
        self.totals: dict[str, float] = {}
        self.roles = {t.name: t.role for t in body.kernel.tensors}
        self.updated = {op.element.tensor for op in inside(ops) if op.element and op.function != "store"}
        for op in inside(ops):
            self.score_lanes(op)
        for op in inside(ops):
            self.orient(op)

    # --- which axis runs along the lanes ---

    def length(self, axis: str) -> int:
        return length(self.body, axis)

    def weight(self, op: Op, open: frozenset[str] = frozenset()) -> float:
        """How often the op is done, and how much it does."""
        return prod((float(self.length(axis)) for axis in op.iterates - open), start=1.0)

    def score_lanes(self, op: Op) -> None:
        """Score each axis of an op as the one along the lanes: unit steps in memory are what counts."""
        scores: dict[str, float] = {}
        if op.compound or op.kind in ("all_reduce", "barrier"):
            return
        found = list({(a.element, a.stores): a for a in accesses(self.body, op)}.values())  # each is done once
        for axis in op.iterates - op.blocked:
            short = segment(self.body, (i for a in found for i in a.element.indices), axis)
            scores[axis] = 0.0
            for access in found:
                gain = step(self.body, access.place, axis, short)
                weight = 1.5 if access.stores else 1.0
                if gain is None:
                    scores[axis] -= weight
                elif gain.constant == 1:
                    scores[axis] += weight * (2 if step(self.body, access.place, axis) is None else 3)
                elif gain.constant == 0:
                    scores[axis] += weight
                else:
                    scores[axis] -= 4 if access.stores else 1  # one by one, or a gather
            even = all(step(self.body, a.place, axis) is not None for a in found)
            run = self.length(axis) if even or not isinstance(short, Number) else min(self.length(axis), short.value)
            scores[axis] -= 6 * max(0.0, 1 - run / SMALL)  # vectors that are not full
        self.lane_scores[op] = scores
        for axis, score in scores.items():
            self.totals[axis] = self.totals.get(axis, 0.0) + score * self.weight(op)

    def orient(self, op: Op) -> None:
        """Let the columns of a matrix product be the axis along which its result is used."""
        if op.kind != "dot":
            return
        rows, columns = self.matrix_axes(op)
        if self.totals.get(rows, 0.0) > self.totals.get(columns, 0.0):
            op.expr, op.other = op.second, op.operand

    def matrix_axes(self, op: Op) -> tuple[str, str]:
        """The rows and the columns of a matrix product."""
        own = op.blocked - set(op.over)
        (rows,) = own & self.body.axes_of(op.operand)
        (columns,) = own & self.body.axes_of(op.second)
        return rows, columns

    def lane_axis(self, op: Op, open: frozenset[str]) -> str | None:
        """The best axis along the lanes among those of an op that are not open."""
        axes = sorted(op.iterates - op.blocked - open)
        if not axes or op.kind in ("dot", "sort"):
            return None
        scores = self.lane_scores.get(op, {})
        return max(axes, key=lambda a: (scores.get(a, 0.0), self.totals.get(a, 0.0), self.length(a)))

    def preferred(self, group: Sequence[Op], axes: frozenset[str]) -> str:
        """The axis that a group as a whole would best have along the lanes."""
        leaves = [leaf for leaf in inside(group) if leaf in self.lane_scores]
        score = {a: sum(self.lane_scores[leaf].get(a, 0.0) * self.weight(leaf) for leaf in leaves) for a in axes}
        return max(axes, key=lambda a: (score[a], a))

    def lane_weights(
        self, group: Sequence[Op], axes: frozenset[str], open: frozenset[str]
    ) -> tuple[dict[str, float], dict[str, float]]:
        """For each axis, how much of the group's work wants it along the lanes, and how much another of its axes."""
        along, across = dict.fromkeys(axes, 0.0), dict.fromkeys(axes, 0.0)
        for leaf in (op for op in inside(group) if not op.compound):
            wanted = self.lane_axis(leaf, open)
            for axis in axes & leaf.iterates:
                (along if axis == wanted else across)[axis] += self.weight(leaf, open)
        return along, across

    def stride(self, group: Sequence[Op], axis: str) -> float:
        """How far apart in memory neighbours along the axis are, at most."""
        widest = 0.0
        for leaf in (op for op in inside(group) if axis in op.iterates):
            for access in accesses(self.body, leaf):
                gain = step(self.body, access.place, axis)
                if gain is not None and gain.constant is not None:
                    widest = max(widest, abs(float(gain.constant)))
                elif gain is not None:
                    widest = max(widest, 1e6 * max(len(product) for product, _ in gain.terms))
        return widest

    # --- which ops may share a loop ---

    def fusible(self, op: Op, open: frozenset[str]) -> frozenset[str]:
        """The axes that a loop right around an op may open."""
        if not op.compound:
            return op.iterates - op.blocked - open
        leaves = [p for p in op.inside() if not p.compound]
        own = {p.axis.name for p in op.inside() if p.axis is not None}
        axes = frozenset().union(*(p.iterates for p in leaves)) - open - own
        return frozenset(a for a in axes if all(self.passes(p, a, open) for p in op.inside()))

    def passes(self, op: Op, axis: str, open: frozenset[str]) -> bool:
        """Whether a loop over `axis` around a loop or branch may go through this op inside it."""
        if op.compound:
            return True
        if axis in op.over or axis in op.blocked or op.kind in ("all_reduce", "barrier"):
            return False
        if axis in op.iterates:
            return True
        # computed again for each position: only a scalar that stays inside
        return not (op.iterates - open) and op.kind != "store" and not any(v.mutable for v in op.writes)

    def fusable(self, first: Op, second: Op, axes: Iterable[str]) -> frozenset[str] | None:
        """The axes among `axes` along which `second` may follow `first` in one loop; None when they are independent."""
        passed = (first.writes & second.reads) | (first.reads & second.writes) | (first.writes & second.writes)
        tensors = (first.stored & second.loaded) | (first.loaded & second.stored)
        tensors |= {t for t in first.stored & second.stored if self.roles[t] != "Out" or t in self.updated}
        if not passed and not tensors:
            return None
        allowed = frozenset(axes)
        for value in passed:
            allowed &= value.axes
        if tensors:
            allowed &= self.same_places(first, second, tensors)
        return allowed

    def same_places(self, first: Op, second: Op, tensors: Iterable[str]) -> frozenset[str]:
        """The axes along which two ops touch the same elements of `tensors`, each position its own."""
        allowed: frozenset[str] | None = None
        for tensor in tensors:
            places = {
                access.element.indices
                for leaf in (*first.inside(), *second.inside())
                for access in accesses(self.body, leaf)
                if access.element.tensor == tensor
            }
            if len({len(place) for place in places}) != 1:
                return frozenset()
            alike = [set(along) for along in zip(*places, strict=True)]
            found = [next(iter(along)) for along in alike if len(along) == 1]
            named = frozenset(i.id for i in found if isinstance(i, Name) and i.id in self.body.axes)
            allowed = named if allowed is None else allowed & named
        return allowed or frozenset()

    def conflicting(self, first: Op, second: Op, open: frozenset[str]) -> frozenset[str]:
        """The axes that one of two independent ops wants along the lanes and the other, just as wide, does not."""
        if any(p.compound or len(p.iterates - open) < 2 for p in (first, second)):
            return frozenset()
        wanted = {self.lane_axis(first, open), self.lane_axis(second, open)} - {None}
        return frozenset(a for a in wanted if a is not None) if len(wanted) > 1 else frozenset()

    def groups(self, ops: Sequence[Op], open: frozenset[str], excluded: Mapping[Op, frozenset[str]]) -> list[Group]:
        """Ops that can share a loop, in an order that keeps every dependency, with the axes that they share.

        `open`: the axes of loops around; `excluded`: axes that no loop right here may open around an op.
        """
        groups: list[Group] = []
        for op in ops:
            wide = self.fusible(op, open) - excluded.get(op, frozenset())
            earliest, shared = 0, list(self.compatible(groups, op, wide, open))
            for number, (group, _) in enumerate(groups):
                if any(self.fusable(p, op, ()) is not None for p in group):
                    earliest = number if shared[number] else number + 1
            home = next((n for n in range(earliest, len(groups)) if shared[n]), None)
            if home is not None:
                groups[home] = ([*groups[home][0], op], shared[home])
            elif wide and self.arithmetic(op):
                groups.insert(earliest, ([op], wide))  # so that what it need not wait for can go on after it
            elif wide or op.compound:
                groups.append(([op], wide))
            else:
                while earliest < len(groups) and not groups[earliest][1]:
                    earliest += 1
                groups.insert(earliest, ([op], wide))
        return self.sunk(groups, open, excluded)

    def sunk(self, groups: Sequence[Group], open: frozenset[str], excluded: Mapping[Op, frozenset[str]]) -> list[Group]:
        """The groups, with what an updated tensor holds loaded in the one that needs it, instead of kept until then."""
        found = [(list(group), axes) for group, axes in groups]
        for number, (group, _) in enumerate(found):
            for op in [p for p in group if p.kind == "map" and p.loaded]:
                readers = {n for n, (each, _) in enumerate(found) if any(op.result in p.reads for p in each)}
                last = max(readers, default=number)
                if len(readers) > 1 or last <= number:
                    continue
                before = [*group[group.index(op) + 1 :], *(p for each, _ in found[number + 1 : last] for p in each)]
                home, axes = found[last]
                limits = [self.fusable(op, p, axes) for p in home]
                wide = self.fusible(op, open) - excluded.get(op, frozenset())
                if any(self.fusable(op, p, ()) is not None for p in before) or not axes <= wide:
                    continue
                if all(limit is None or axes <= limit for limit in limits):
                    group.remove(op)
                    home.insert(0, op)
        return [(group, axes) for group, axes in found if group]

    def arithmetic(self, op: Op) -> bool:
        """Whether an op computes from positions and kept values alone."""
        return op.kind == "map" and op.expr is not None and not any(self.body.loads_of(op.expr))

    def compatible(
        self,
        groups: Sequence[Group],
        op: Op,
        wide: frozenset[str],
        open: frozenset[str],
    ) -> Iterator[frozenset[str]]:
        """For each group the axes that it would still share with `op` in it."""
        for group, axes in groups:
            allowed = axes & wide
            for other in group:
                if allowed:
                    limit = self.fusable(other, op, allowed)
                    allowed = allowed - self.conflicting(other, op, open) if limit is None else limit
                    allowed -= _conflicting(other, op)
            yield allowed

    # --- which shape a loop takes ---

    def turns_inside(self, op: Op, axis: str, open: frozenset[str]) -> float:
        """How many turns loops inside a loop over `axis` would take for one position."""
        if not op.compound:
            return prod(float(self.length(other)) for other in op.iterates - open - {axis})
        inner = max((self.turns_inside(p, axis, open) for p in (*op.body, *op.orelse)), default=1.0)
        return turns(op) * inner

    def near(self, op: Op, axis: str, open: frozenset[str]) -> bool:
        """Whether loops inside a loop over `axis` would take few turns, or go through a window of few on each side."""
        turns = self.turns_inside(op, axis, open)
        sides = () if op.compound else op.iterates - open - {axis}
        return turns <= SMALL or (turns <= SMALL**2 and bool(sides) and all(self.length(a) <= SMALL for a in sides))

    def jams(self, group: Sequence[Op], axis: str, open: frozenset[str]) -> bool:
        """Whether a loop reduces `axis` into a buffer along the lanes: it should add several positions a visit.

        Not where places are looked up: what lies there together is best read together, which is then in few lines.
        """
        return all(
            p.kind == "reduce"
            and axis in p.over
            and p.function not in ("first", "last")
            and p.iterates - open - {axis} == {self.lane_axis(p, open)} - set(p.over)
            and all(step(self.body, access.place, axis) is not None for access in accesses(self.body, p))
            for p in group
        )

    def square(self, group: Sequence[Op], axes: frozenset[str]) -> tuple[str, ...]:
        """(lane axis, other axis) when loads are contiguous along the other axis of a group only."""
        if any(p.compound for p in group):
            return ()
        lane = self.preferred(group, axes)
        if self.length(lane) < 8 or any(p.kind == "dot" for p in group):
            return ()
        for axis in sorted(axes - {lane}):
            if self.length(axis) >= 8 and any(
                self.crosses(access.place, lane, axis) and not access.stores
                for op in group
                for access in accesses(self.body, op)
            ):
                return lane, axis
        return ()

    def crosses(self, place: Polynomial, lane: str, axis: str) -> bool:
        """Whether a place steps by 1 along `axis` and by more along `lane`."""
        along, by = step(self.body, place, axis), step(self.body, place, lane)
        return along is not None and along.constant == 1 and by is not None and by.constant not in (0, 1)


def _conflicting(first: Op, second: Op) -> frozenset[str]:
    """The axes along which two scans go opposite ways."""
    if first.kind == second.kind == "scan" and first.reverse != second.reverse:
        return frozenset(first.over) & frozenset(second.over)
    return frozenset()
