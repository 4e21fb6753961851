"""Products and attentions among the clusters: what they read many times is stored before them."""

from __future__ import annotations

from akg_core.design.fuse.cluster import Cluster
from akg_core.design.fuse.partition import Partition
from akg_core.design.graph.anchors import operands
from akg_core.design.graph.split_precision import Halves
from akg_core.design.graph.values import Attention, Pointwise, Product, Reduction, Value, View, Window

_LIGHT = ("copy", "cast", "round_to")  # operations that an operand of a product may have in its place


def add_product(partition: Partition, head: Product) -> Cluster:
    """Give a product its cluster; scales and halves of its operands are stored before."""
    (*batch, m, k), n = head.left.shape, head.right.shape[-1]
    halves = partition.halving.of(head) if partition.halving is not None else None
    for half in halves or ():
        partition.add(half.back)
    cluster = Cluster("product", (*batch, m, n, k), frozenset((len(batch) + 2,)), heads=[head])
    partition.clusters.add(cluster)
    for guard in head.guards or ():
        _store_scale(partition, guard.back, cluster)
    for operand in (head.left, head.right):
        _store_operand(partition, operand, cluster, packed=head.guards is not None)
    for guard in head.guards or ():
        _store_operand(partition, guard.exact, cluster)
    if halves is not None:
        partition.halves[head] = halves
        for side, half in zip(("left", "right"), halves, strict=True):
            _store_halves(partition, side, half, cluster)
    return cluster


def add_attention(partition: Partition, head: Attention) -> Cluster:
    """Give an attention its cluster."""
    *batch, m, _ = head.query.shape
    *_, n, f = head.right.shape
    reduced = frozenset((len(batch) + 2, len(batch) + 3))
    cluster = Cluster("attention", (*batch, m, f, n, head.query.shape[-1]), reduced, heads=[head])
    partition.clusters.add(cluster)
    for operand in (head.key, head.right):
        _store_operand(partition, operand, cluster)
    return cluster


def _store_scale(partition: Partition, back: Value, reader: Cluster) -> None:
    """Have the factor of a guarded operand stored, under the name of what it is a factor of."""
    while isinstance(back, View):
        back = back.arg
    if back not in partition.buffers:
        arguments = (h.arg for h in partition.needs(back) if isinstance(h, Reduction))
        sources = sorted(s.origin.partition(":")[2] for a in arguments for s in partition.reads(a))
        name = [*sources, "operand"][0]
        partition.store(back, partition.buffers.like(back, f"{name}_scale", f"scale_{name}"), before=reader)


def _store_halves(partition: Partition, side: str, half: Halves, reader: Cluster) -> None:
    for value, name, label in (
        (half.back, "back", f"scale_{side}"),
        (half.high, "high", f"split_{side}"),
        (half.low, "low", f"split_{side}"),
    )[: 3 if half.stored else 1]:
        partition.store(value, partition.buffers.like(value, f"{side}_{name}", label), before=reader)


def _store_operand(partition: Partition, value: Value, reader: Cluster, packed: bool = False) -> None:
    """A product reads its operands many times: what takes work is stored before, or only what asks for it."""
    while value not in partition.buffers and (
        isinstance(value, (View, Window)) or (isinstance(value, Pointwise) and value.op.split()[0] in _LIGHT)
    ):
        value = operands(value)[0]
    if isinstance(value, Pointwise) and value not in partition.buffers and (value.op == "stored" or not packed):
        sources = sorted(s.origin.partition(":")[2] for s in partition.reads(value))
        name = sources[0] if value.op == "stored" and sources else ""
        made = f"{name}_packed", f"pack_{name}"
        buffer = partition.buffers.like(value, *made) if name else partition.buffers.new(value)
        partition.store(value, buffer, before=reader)
