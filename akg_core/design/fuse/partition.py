"""Which values one kernel computes: fusion of neighbours into as few kernels as make sense.

Elementwise work before a reduction is always computed in its cluster, again where several
need it; elementwise work after it joins its cluster when every position that it needs is at hand there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

from akg_core.design.algebra.index import Index, flatten, product, unflatten
from akg_core.design.fuse.buffers import Buffers
from akg_core.design.fuse.cluster import Cluster, Clusters, Looped, Target
from akg_core.design.fuse.recomputation import often_read
from akg_core.design.fuse.scattering import by_rows, own_dims, pieces
from akg_core.design.graph.anchors import Anchor, AnchorKey, anchor_of, operands
from akg_core.design.graph.distribute import distributed, through_maps
from akg_core.design.graph.reach import Reach, concatenations, parts_first, slid_over
from akg_core.design.graph.split_precision import Halves, SplitPrecision
from akg_core.design.graph.states import Loop, States
from akg_core.design.graph.values import (
    Attention,
    Concat,
    Literal,
    Pointwise,
    Positions,
    Product,
    Reduced,
    Reduction,
    Scan,
    Scatter,
    Scores,
    Segmented,
    Shape,
    Sorted,
    Source,
    Value,
    View,
    Window,
)
from akg_core.design.nest.terms import Buffer, Inliner, NotInside, Term, TermTable
from akg_core.design.trace import Trace

Split = Callable[[Shape, frozenset[int], str], bool]
"""Whether a reduction over a space is to be split, by its reduced dims and its dtype."""
Rows = Callable[[Scatter, int], bool]
"""Whether programs fill the rows that they update, by how many of the first dims are those of rows."""


class Partition:
    """Clusters in an order in which they can run. `halving`: which products are made of halves.

    `adding`: what gives an anchor its cluster, by the anchor's kind, where that stores what the anchor reads before it.
    """

    def __init__(self, trace: Trace, split: Split, rows: Rows, halving: SplitPrecision | None, adding: Adding) -> None:
        self.trace, self._adding = trace, adding
        self.clusters = Clusters()
        self._rank = self.clusters.rank
        self.buffers = Buffers(trace)
        self.made_by: dict[Value, Cluster] = {}
        self._split, self._rows = split, rows
        self._home: dict[AnchorKey, Cluster] = {}
        self._done: set[AnchorKey] = set()
        self._added: set[Value] = set()  # below these, every anchor has its cluster
        self._reductions: dict[tuple[tuple[Index, bool], ...], list[Cluster]] = {}  # those that others may still join
        self._read: dict[Cluster, tuple[int, frozenset[Value]]] = {}
        self._slid: set[Value] = set()
        self._often: set[Value] = set()  # stored to be loaded, though a kernel could compute them again
        self._origins = {value: origin.name for value, origin in trace.origins.items()}
        reach = Reach()
        self.needs, self.reads = reach.needs, reach.reads
        self.zeroed: set[Buffer] = set()  # tensors that hold zeros where nothing is written
        self._once = bool(trace.outputs or trace.mutations)  # rather than in every turn of a loop
        self.halving = halving
        self.halves: dict[Product, tuple[Halves, Halves]] = {}
        self.loops: dict[Loop, Looped] = {}

    # --- the order ---------------------------------------------------------------------------------

    def _latest(self, heads: frozenset[AnchorKey]) -> int:
        """Where in the order the last of these heads is made."""
        return max((self._rank(self._maker(h)) for h in heads), default=-1)

    def _maker(self, head: AnchorKey) -> Cluster | None:
        return self.made_by.get(head) if isinstance(head, (Concat, Scatter)) else self._home[head]

    # --- heads --------------------------------------------------------------------------------------

    def add(self, value: Value) -> None:
        """Give every anchor below `value` a cluster."""
        for part in parts_first(value, self._added):
            self._added.add(part)
            head = anchor_of(part)
            if head is not None and head not in self._done:
                self._done.add(head)
                self._add_head(head)
            if isinstance(part, States):
                self.made_by[part] = self._home[part.loop]
                self.buffers[part] = self.loops[part.loop].states[part.part]

    def _add_head(self, head: AnchorKey) -> None:
        if isinstance(head, Reduction):
            self._add_reduction(head)
        elif type(head) in self._adding:
            self._home[head] = self._adding[type(head)](self, head)
        elif isinstance(head, (Scan, Sorted)):
            kind = "scan" if isinstance(head, Scan) else "sort"
            self._home[head] = self._new(Cluster(kind, head.arg.shape, frozenset((head.dim,)), heads=[head]))
        elif isinstance(head, Segmented):
            (segments, *rest), rows = head.shape, head.arg.shape[0]
            self._home[head] = self._new(Cluster("segments", (segments, rows, *rest), frozenset((1,)), heads=[head]))
        elif isinstance(head, (Concat, Scatter)):
            self.store(head, self.buffers.new(head))

    def _new(self, cluster: Cluster, before: Cluster | None = None) -> Cluster:
        self.clusters.add(cluster, before)
        return cluster

    def _add_reduction(self, head: Reduction) -> None:
        new = Cluster("reduce", head.arg.shape, frozenset(head.dims))
        new.split = self._split(head.arg.shape, new.reduced, head.arg.dtype)
        needed = self.needs(head.arg)
        last, first = self._latest(needed), self._loaded_from(head.arg)
        for cluster in self.clusters.between(max(last, 0)):
            chained = not needed.isdisjoint(cluster.heads)
            if (
                cluster.kind == "reduce"
                and cluster.key == new.key
                and not (chained and cluster.split)
                and (self._rank(cluster) > last or chained)
                and self._rank(cluster) > first
                and self.fits(cluster, head.arg) is not None
            ):
                self._home[head] = cluster
                cluster.heads.append(head)
                return
        self._home[head] = self._new(new)
        new.heads.append(head)
        self._gather(new)

    def _gather(self, cluster: Cluster) -> None:
        """Take in earlier reductions over the same space that nothing in between waits for."""
        for other in self._reductions.get(cluster.key, []):
            if other.targets or self._awaited(other):  # and will be from now on
                continue
            self.clusters.remove(other)
            cluster.heads = [*other.heads, *cluster.heads]
            for head in other.heads:
                self._home[head] = cluster
        self._reductions[cluster.key] = [cluster]

    def _awaited(self, cluster: Cluster) -> bool:
        """Whether another cluster needs what this one reduces; the next ones are asked first."""
        rank = self._rank(cluster)
        others = chain(self.clusters.between(rank + 1), self.clusters.between(0, rank))
        return any(not self.needs(v).isdisjoint(cluster.heads) for c in others for v in c.roots())

    # --- fitting --------------------------------------------------------------------------------------

    def fits(self, cluster: Cluster, value: Value) -> Positions | None:
        """The value's positions in terms of the cluster's axes, None when the cluster cannot compute it.

        Values of the kept dims' size are taken to be over these; those of the whole space's size over that.
        """
        full, kept = cluster.positions()
        candidates = [(cluster.kept, kept)] if cluster.kind != "loop" else []
        if cluster.kind in ("reduce", "map") and not cluster.split:
            candidates.insert(len(candidates) if cluster.reduced else 0, (cluster.space, full))
        if cluster.kind in ("scan", "sort"):
            candidates = [(cluster.space, full)]
        for shape, at in candidates:
            if value.size == product(shape):
                positions = unflatten(flatten(at, shape), value.shape) if value.shape else ()
                if cluster.kind == "attention":
                    positions = cluster.moved(value, at) or positions
                try:
                    self.inliner(cluster, TermTable(), probing=True).at(value, positions)
                except NotInside:
                    continue
                return positions
        return None

    def inliner(self, cluster: Cluster, pool: TermTable, probing: bool = False) -> Inliner:
        """What brings values to positions inside a cluster; a `probing` one takes other clusters' values as given."""
        full, kept = cluster.positions()

        def inside(value: Anchor, at: Positions) -> Term:
            if isinstance(value, Scores):
                for owner in cluster.heads:
                    if isinstance(owner, Attention) and owner.inner is value:
                        return pool.result(owner, 1, value.dtype)
                raise NotInside(value)
            head = anchor_of(value)
            if head in cluster.heads and not isinstance(head, Loop):  # whose turns have kernels of their own
                own = full if isinstance(value, (Scan, Sorted)) else kept
                if [p for p in at if p != 0] != [p for p in own if p != 0]:  # dims of size 1 do not count
                    raise NotInside(value)
                return pool.result(head, value.part if isinstance(value, Reduced) else 0, value.dtype)
            if probing and self.made_by.get(value) is not cluster:
                return pool.constant(0, value.dtype)
            raise NotInside(value)

        own = {t.value for t in cluster.targets if t.into is None and not isinstance(t.value, (Concat, Scatter))}
        rank = self._rank(cluster) if cluster in self.clusters else len(self.clusters)

        def stored(value: Value) -> Buffer | None:
            earlier = isinstance(value, Source) or (value not in own and self._rank(self.made_by.get(value)) < rank)
            return self.buffers.get(value) if earlier else None

        return Inliner(pool, stored, inside, self._origins)

    # --- what is stored -------------------------------------------------------------------------------

    def store(self, value: Value, buffer: Buffer, before: Cluster | None = None) -> None:
        """Have `value` written to `buffer`, by the cluster that suits it best; states of loops stay where they are."""
        if isinstance(value, States):
            return self.add(value)
        if isinstance(value, Scatter):
            return self._scatter(value, buffer, before)
        for part in through_maps(value):
            if not isinstance(part, (Pointwise, Concat)):  # what it waits for may have concatenations stored
                self.add(part)
        joined = value if isinstance(value, Concat) else distributed(value, self._done)
        if joined is not None:
            beside: Cluster | None = None
            makers: list[Cluster] = []
            for number, part in enumerate(joined.parts):
                if self._is_zero(part, buffer):
                    self.zeroed.add(buffer)
                    continue
                beside = self.write(Target(part, buffer, _placed(buffer, joined, number)), before, beside)
                makers.append(beside)
            self.made_by[value] = max(makers, key=self._rank)
        else:
            self.made_by[value] = self.write(Target(value, buffer, buffer.place), before)
        self.buffers[value] = buffer

    def store_often_read(self) -> None:
        """Store what would be computed again at many places for what leaves the program."""
        leaving = (*filter(None, self.trace.outputs), *self.trace.mutations.values())
        for value in often_read(value for value, _ in leaving):
            if self.reads(value) or self.needs(value):
                self.store(value, self.buffers.new(value))
                self._often.add(value)

    def _is_zero(self, value: Value, buffer: Buffer) -> bool:
        """Whether a tensor that the program allocates has this value from the start."""
        if not (self._once and isinstance(value, Literal) and value.number == 0):
            return False
        return all(self.buffers.get(source) is not buffer for source in self.trace.sources.values())

    def _scatter(self, head: Scatter, buffer: Buffer, before: Cluster | None) -> None:
        """Have the base written to a tensor, and after it the updates to their places there."""
        alone = head.op == "set" and self._is_zero(head.base, buffer)
        parts = pieces(head, self._done) if alone else [head]
        for part in chain(operands(head)[:1], *(operands(piece)[1:] for piece in parts)):
            self.add(part)
        self._added.add(head)
        self._done.add(head)
        if self._fills_rows(head, buffer):
            self.made_by[head], self.buffers[head] = self._new(by_rows(head, buffer, own_dims(head)), before), buffer
            return
        if self._is_zero(head.base, buffer):
            self.zeroed.add(buffer)
        elif self.buffers.get(head.base) is not buffer:
            self.write(Target(head.base, buffer, buffer.place), before)
        makers = []
        for piece in parts:
            target = Target(piece.updates, buffer, buffer.place, piece)
            if alone or (buffer in self.zeroed and not head.places):  # nothing to wait for but updates and places
                makers.append(self.write(target, before))
            else:
                makers.append(self._new(Cluster("map", piece.updates.shape, frozenset(), targets=[target]), before))
        self.made_by[head], self.buffers[head] = max(makers, key=self._rank), buffer

    def _fills_rows(self, head: Scatter, buffer: Buffer) -> bool:
        """Whether programs write rows of the base, which they then update, rather than another kernel all of it."""
        if head.op == "set" or self.needs(head.base) or self.buffers.get(head.base) is buffer or not self._once:
            return False
        return buffer.order == tuple(range(len(buffer.order))) and self._rows(head, own_dims(head))

    def write(
        self, target: Target, before: Cluster | None = None, beside: Cluster | None = None, since: int = 0
    ) -> Cluster:
        """The cluster that writes a target; `beside`: one that writes to the same tensor. `since`: the least rank of
        one that is not made for it.
        """
        value, needed = target.value, frozenset[AnchorKey]()
        for root in target.roots:
            self.add(root)
            needed |= self.needs(root)
        last, first = self._latest(needed), self._loaded_from(value)
        stop = len(self.clusters) if before is None else self._rank(before)
        for cluster in self.clusters.between(max(last, since), stop):
            near = cluster is beside and cluster.kind == "map" and cluster.space == value.shape
            chained = not needed.isdisjoint(cluster.heads)
            related = near or chained or self._shares(cluster, value)
            if (
                related
                and self._rank(cluster) > first
                and (chained or self._rank(cluster) > last)
                and all(self.fits(cluster, root) is not None for root in target.roots)
            ):
                cluster.targets.append(target)
                return cluster
        return self._new(Cluster("map", value.shape, frozenset(), targets=[target]), before)

    def _loaded_from(self, value: Value) -> int:
        """The rank of the last cluster that stores what `value` is to load rather than to compute again."""
        if not self._often:
            return -1
        below = parts_first(value, self._often - {value}, lambda part: () if anchor_of(part) else operands(part))
        return max((self._rank(self.made_by[o]) for p in below for o in operands(p) if o in self._often), default=-1)

    def _shares(self, cluster: Cluster, value: Value) -> bool:
        """Whether a cluster reads a big tensor that `value` reads too, or nothing is to be read."""
        if cluster.kind not in ("reduce", "map", "scatter"):
            return False
        if not self.reads(value) and not self.needs(value):
            return cluster.kind != "reduce"  # constants may be written anywhere
        common = self._read_by(cluster) & (self.reads(value) | concatenations(self.needs(value)))
        space = cluster.kept if cluster.kind == "scatter" else cluster.space
        return any(2 * s.size.example >= product(space).example for s in common)

    def _read_by(self, cluster: Cluster) -> frozenset[Value]:
        """The tensors that a cluster reads: from outside, and what is joined of parts before it."""
        roots = len(cluster.heads) + len(cluster.targets)
        if self._read.get(cluster, (0, None))[0] != roots:
            below = cluster.roots()
            joined = concatenations(frozenset().union(*map(self.needs, below)).difference(cluster.heads))
            self._read[cluster] = (roots, joined.union(*map(self.reads, below)))
        return self._read[cluster][1]

    # --- what crosses from one cluster to another ---------------------------------------------------

    def cut(self) -> None:
        """Store what a cluster needs of earlier ones: small values after their reductions, rather than these."""
        self._slid = slid_over([v for c in self.clusters for v in c.roots()])
        for cluster in reversed(list(self.clusters)):
            seen: set[Value] = set()
            for value in cluster.roots():
                self._cut(value, cluster, seen)

    def _cut(self, value: Value, reader: Cluster, seen: set[Value]) -> None:
        if value in seen:
            return
        seen.add(value)
        maker = self.made_by.get(value)
        if maker is not None and maker is not reader and self._rank(maker) < self._rank(reader):
            return
        head = anchor_of(value)
        if head in reader.heads:
            return
        foreign = frozenset(h for h in self.needs(value) if h not in reader.heads)
        if not foreign:
            return
        home = self._maker(max(foreign, key=lambda h: self._rank(self._maker(h))))
        assert home is not None
        # what is rounded is rounded where it is multiplied
        rounding = isinstance(value, Pointwise) and value.op.startswith("round_to")
        light = rounding or isinstance(value, (View, Window, Literal)) or foreign != self.needs(value)
        if head is None and self._at_hand(value, reader):
            return
        # A window slides over dims that a product has only once it is reshaped.
        spread = value in self._slid and not set(operands(value)) & self.made_by.keys()
        if head is not None or ((spread or not light) and self._absorbs(home, value)):
            buffer = self.buffers.new(value)
            home.targets.append(Target(value, buffer, buffer.place))
            self.made_by[value], self.buffers[value] = home, buffer
            return
        for part in operands(value):
            self._cut(part, reader, seen)

    def _at_hand(self, value: Value, reader: Cluster) -> bool:
        """Whether `reader` can compute a value of what earlier clusters store already."""
        stack, seen = [value], {value}
        while stack:
            part = stack.pop()
            maker = self.made_by.get(part)
            if isinstance(part, Source) or (maker is not None and self._rank(maker) < self._rank(reader)):
                continue
            if anchor_of(part) is not None:
                return False
            stack += [o for o in operands(part) if o not in seen]
            seen.update(stack)
        return True

    def _absorbs(self, home: Cluster, value: Value) -> bool:
        size = product(home.space if home.kind in ("scan", "sort") else home.kept)
        return home.kind != "map" and value.size == size and self.fits(home, value) is not None


def _placed(buffer: Buffer, joined: Concat, number: int) -> Callable[[Positions], Positions]:
    return lambda at: buffer.place(joined.place(number, at))


Adding = Mapping[type, Callable[[Partition, Any], Cluster]]
