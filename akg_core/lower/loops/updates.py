"""Tensors that programs only join updates to, which languages of threads may do in copies of their own."""

from __future__ import annotations

from collections.abc import Sequence

from akg_core.lower.ir import Op, inside


def updates(ops: Sequence[Op]) -> dict[str, str]:
    """The tensors that ops only update, and the one function by which: "atomic_add", "atomic_max", "atomic_min"."""
    every = list(inside(ops))
    loaded = frozenset().union(*(op.loaded for op in every))
    functions: dict[str, set[str]] = {}
    for op in every:
        if op.element is not None and op.element.tensor not in loaded:
            functions.setdefault(op.element.tensor, set()).add(op.function)
    return {name: each for name, (each, *others) in functions.items() if each != "store" and not others}
