"""Elementwise work on a concatenation becomes a concatenation of elementwise work, so that it is never stored."""

from __future__ import annotations

from collections.abc import Container

from akg_core.design.graph.anchors import operands
from akg_core.design.graph.values import Concat, Pointwise, Value, view


def distributed(value: Value, stored: Container[object]) -> Concat | None:
    """`value` as a concatenation, when it is elementwise work on one that is not `stored` anyway."""
    joined = next((c for c in through_maps(value) if isinstance(c, Concat) and c not in stored), None)
    if joined is None:
        return None
    parts = tuple(_restricted(value, joined, number, {}) for number in range(len(joined.parts)))
    return Concat(parts, joined.starts, joined.ways, shape=value.shape, dtype=value.dtype)


def through_maps(value: Value) -> list[Value]:
    """The values that elementwise operations alone lead to."""
    found: dict[Value, None] = {}
    stack = [value]
    while stack:
        at = stack.pop()
        if at not in found:
            found[at] = None
            stack += operands(at) if isinstance(at, Pointwise) else ()
    return list(found)


def _restricted(value: Value, joined: Concat, number: int, memo: dict[Value, Value]) -> Value:
    """`value` on the positions of one part of a concatenation that it is made of elementwise."""
    if value not in memo:
        if value is joined or (
            isinstance(value, Concat) and (value.starts, value.ways) == (joined.starts, joined.ways)
        ):
            memo[value] = value.parts[number]
        elif isinstance(value, Pointwise):
            args = tuple(_restricted(a, joined, number, memo) for a in value.args)
            memo[value] = Pointwise(value.op, args, shape=args[0].shape, dtype=value.dtype)
        else:
            memo[value] = view(value, joined.parts[number].shape, lambda at: joined.place(number, at))
    return memo[value]
