"""Tensors that programs join updates to, which languages of threads may do without atomics: in copies of their own, or
where each program has places to itself."""

from __future__ import annotations

from collections.abc import Sequence

from akg_core.lower.ir import Axis, Op, inside
from akg_core.sketch.ast import Name


def updates(ops: Sequence[Op], grid: Sequence[Axis]) -> dict[str, str]:
    """The tensors that ops only update, and the one function by which: "atomic_add", "atomic_max", "atomic_min".

    Where no two programs touch the same place, they may store there, too.
    """
    every = list(inside(ops))
    loaded = frozenset().union(*(op.loaded for op in every))
    functions: dict[str, set[str]] = {}
    for op in every:
        if op.element is not None and op.element.tensor not in loaded:
            functions.setdefault(op.element.tensor, set()).add(op.function)
    joined = {name: each - {"store"} for name, each in functions.items()}
    alone = {name for name, each in functions.items() if "store" not in each or owned(ops, name, grid)}
    return {name: next(iter(each)) for name, each in joined.items() if len(each) == 1 and name in alone}


def owned(ops: Sequence[Op], tensor: str, grid: Sequence[Axis]) -> bool:
    """Whether no two programs write the same place of a tensor: each axis of the grid is one of its dims, the same one
    wherever it is written."""
    places = [op.element.indices for op in inside(ops) if op.element is not None and op.element.tensor == tensor]
    spread = [Name(axis.name) for axis in grid if not axis.has_one_tile]
    return all(any({*along} == {name} for along in zip(*places, strict=True)) for name in spread)
