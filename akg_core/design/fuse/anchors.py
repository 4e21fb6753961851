"""A partition that knows every anchor: how those get their cluster that have operands stored before it."""

from __future__ import annotations

from akg_core.design.fuse.looping import add_loop
from akg_core.design.fuse.operands import add_attention, add_product
from akg_core.design.fuse.partition import Adding, Partition, Rows, Split
from akg_core.design.graph.split_precision import SplitPrecision
from akg_core.design.graph.states import Loop
from akg_core.design.graph.values import Attention, Product
from akg_core.design.trace import Trace

ADDING: Adding = {Product: add_product, Attention: add_attention, Loop: add_loop}


def partition_of(trace: Trace, split: Split, rows: Rows, halving: SplitPrecision | None = None) -> Partition:
    """A partition of a traced graph, in which nothing is stored yet."""
    return Partition(trace, split, rows, halving, ADDING)
