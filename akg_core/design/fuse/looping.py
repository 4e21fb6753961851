"""A loop among the clusters: what its turns read is stored before, its states have tensors of their own."""

from __future__ import annotations

from collections.abc import Callable

from akg_core.design.algebra.index import Index, index
from akg_core.design.fuse.cluster import Cluster, Looped, Target
from akg_core.design.fuse.partition import Partition
from akg_core.design.graph.states import Loop
from akg_core.design.graph.values import Pointwise, Positions, Value, View, compute
from akg_core.design.nest.terms import Buffer


def add_loop(partition: Partition, loop: Loop) -> Cluster:
    """Give a loop its cluster and its tensors; all that its turns read is written before."""
    cluster = Cluster("loop", (), frozenset(), heads=[loop])
    partition.clusters.add(cluster)
    given = tuple(_rows(partition, v, cluster) for v in loop.given)
    fixed = tuple(_whole(partition, v, cluster) for v in loop.fixed)
    earlier = [partition.clusters.rank(other) for other in partition.clusters if other.kind == "loop"]
    since = max(earlier[:-1], default=-1) + 1  # no tensor is taken before the loop that ends before this one begins
    states = []
    for source, value in zip(loop.before, loop.initial, strict=True):
        name = source.origin.partition(":")[2]
        shape = (loop.steps + 1, *source.shape)
        buffer = partition.buffers.part(name, source.dtype, shape)
        first = loop.steps if loop.reverse else index(0)
        partition.write(Target(compute("copy", value), buffer, _row(first)), cluster, since=since)
        states.append(buffer)
    partition.loops[loop] = Looped(given, fixed, tuple(states))
    return cluster


def _row(number: Index) -> Callable[[Positions], Positions]:
    return lambda at: (number, *at)


def _rows(partition: Partition, value: Value, reader: Cluster) -> tuple[Buffer, Index]:
    """A tensor that has the rows of `value` from one of its own on, and which that is."""
    order, inner, first = list(range(len(value.shape))), value, index(0)
    while isinstance(inner, View) and inner.move is not None:
        match inner.move:
            case "permute", moved:
                order = [moved[d].constant or 0 for d in order]
            case "narrow", (dim, start, _) if dim == order[0]:
                first = first + start
            case _:
                break
        inner = inner.arg
    held = partition.buffers.get(inner)
    if held is not None and held.order == tuple(order):
        return held, first
    return _whole(partition, value, reader), index(0)


def _whole(partition: Partition, value: Value, reader: Cluster) -> Buffer:
    """A tensor that holds `value` in row-major order; written for it, where it lies otherwise or nowhere yet."""
    order, inner = list(range(len(value.shape))), value
    while isinstance(inner, View) and inner.move is not None and inner.move[0] == "permute":
        moved = [dim.constant or 0 for dim in inner.move[1]]
        order, inner = [moved[d] for d in order], inner.arg
    held = partition.buffers.get(inner)
    if held is not None and held.order == tuple(order):
        return held
    name = next((o.name for v in (value, inner) if (o := partition.trace.origins.get(v))), "given")
    if held is None and isinstance(inner, Pointwise):
        value, shape = inner, tuple(inner.shape[d] for d in order)
    else:
        value, order, shape = compute("copy", value), list(range(len(value.shape))), value.shape
    buffer = Buffer(partition.buffers.unique(name), name, value.dtype, shape, tuple(order))
    partition.store(value, buffer, before=reader)
    return buffer
