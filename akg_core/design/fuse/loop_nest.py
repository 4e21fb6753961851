"""A cluster becomes a loop nest: what its heads are made of and what it stores, at the positions of its axes."""

from __future__ import annotations

from akg_core.design.algebra.index import Axis, flatten, position, unflatten
from akg_core.design.fuse.cluster import Cluster, Target
from akg_core.design.fuse.partition import Partition
from akg_core.design.graph.values import Attention, Positions, Product, Reduction, Scan, Segmented, Sorted
from akg_core.design.nest.nest import Head, Nest, Store
from akg_core.design.nest.terms import Data, Inliner, Term, TermTable


def nest_of(partition: Partition, cluster: Cluster) -> Nest:
    """The cluster's loop nest, with its own axes, before refinement.

    A product's arguments are its operands, each with its exact values and its back where it has guards, and, where it
    is made of halves, high, low and back of both.
    """
    pool = TermTable()
    bring = partition.inliner(cluster, pool)
    full, _ = cluster.positions()
    axes = tuple(a for p in full for a in p.axes())
    reduced = frozenset(a for d in cluster.reduced for a in full[d].axes())
    heads: list[Head] = []
    fixed: set[Axis] = set()
    for head in cluster.heads:
        if isinstance(head, Reduction):
            # Reductions over spaces that differ in dims of size 1 only are together.
            whole = unflatten(flatten(full, cluster.space), head.arg.shape)
            heads.append(Head(head, (bring.at(head.arg, whole),)))
            if head.kind.startswith("arg"):
                fixed |= reduced
        elif isinstance(head, Product):
            *batch, m, n, k = full
            places = ((*batch, m, k), (*batch, k, n))
            args: tuple[Term, ...] = ()
            for number, (value, at, line) in enumerate(zip((head.left, head.right), places, (m, n), strict=True)):
                args += (bring.at(value, at),)
                if head.guards is not None:
                    args += (
                        bring.at(head.guards[number].exact, at),
                        bring.at(head.guards[number].back, (*batch, line)),
                    )
            for half, at, line in zip(partition.halves.get(head, ()), places, (m, n), strict=False):
                args += tuple(bring.at(part, half.place(at)) for part in (half.high, half.low))
                args += (bring.at(half.back, (*batch, line)),)
            heads.append(Head(head, args))
        elif isinstance(head, Attention):
            *batch, m, f, n, k = full
            parts = ((head.query, (m, k)), (head.key, (k, n)), (head.scores, (m, n)), (head.right, (n, f)))
            heads.append(Head(head, tuple(bring.at(v, (*batch, *at)) for v, at in parts)))
            fixed.update(a for p in (m, f, n, k) for a in p.axes())
        elif isinstance(head, (Scan, Sorted)):
            heads.append(Head(head, (bring.at(head.arg, full),)))
            fixed |= reduced
        elif isinstance(head, Segmented):
            segment, row, *rest = full
            ends = tuple(bring.at(v, (segment,)) for v in (head.starts, head.stops))
            heads.append(Head(head, (bring.at(head.arg, (row, *rest)), *ends)))
            fixed.update(a for p in (segment, row) for a in p.axes())
    stores = tuple(_store(partition, cluster, target, bring) for target in cluster.targets)
    if cluster.kind == "scatter" and sum(axis in reduced for axis in axes) > 1:
        fixed |= reduced  # places that are read are of one dim each
    own = {"product": 3, "attention": 4}.get(cluster.kind, 0)
    batch_axes = frozenset(axes[:-own]) if own else frozenset()
    return Nest(pool, axes, reduced, tuple(heads), stores, frozenset(fixed), batch_axes)


def _store(partition: Partition, cluster: Cluster, target: Target, bring: Inliner) -> Store:
    here = _positions(partition, cluster, target)
    into, op = here, "store"
    if target.into is not None:
        found = tuple(position(Data(bring.at(p, here))) for p in target.into.places)
        into, op = target.into.rule(here, found), target.into.op
    return Store(target.buffer, target.place(into), bring.at(target.value, here), op)


def _positions(partition: Partition, cluster: Cluster, target: Target) -> Positions:
    """Where the cluster's axes stand in what a target stores."""
    full, _ = cluster.positions()
    if cluster.kind == "scatter" and target is cluster.targets[0]:
        return full[: len(target.value.shape)]
    here = partition.fits(cluster, target.value)
    assert here is not None
    return here
