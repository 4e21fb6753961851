"""Elementwise work on a concatenation becomes a concatenation of elementwise work, so that it is never stored."""

from __future__ import annotations

from collections.abc import Container

from akg_core.design.graph.reach import parts_first
from akg_core.design.graph.values import Concat, Pointwise, Value, view


def distributed(value: Value, stored: Container[object]) -> Concat | None:
    """`value` as a concatenation, when it is elementwise work on one of several parts that is not `stored` anyway."""
    joined = next(
        (c for c in through_maps(value) if isinstance(c, Concat) and len(c.parts) > 1 and c not in stored), None
    )
    if joined is None:
        return None
    parts = tuple(_restricted(value, joined, number) for number in range(len(joined.parts)))
    return Concat(parts, joined.starts, joined.ways, shape=value.shape, dtype=value.dtype)


def through_maps(value: Value) -> list[Value]:
    """The values that elementwise operations alone lead to."""
    found: dict[Value, None] = {}
    stack = [value]
    while stack:
        at = stack.pop()
        if at not in found:
            found[at] = None
            stack += _mapped(at)
    return list(found)


def _mapped(value: Value) -> tuple[Value, ...]:
    return value.args if isinstance(value, Pointwise) else ()


def _restricted(value: Value, joined: Concat, number: int) -> Value:
    """`value` on the positions of one part of a concatenation that it is made of elementwise."""
    found: dict[Value, Value] = {}
    for part in parts_first(value, parts=_mapped):
        if isinstance(part, Concat) and (part.starts, part.ways) == (joined.starts, joined.ways):
            found[part] = part.parts[number]
        elif isinstance(part, Pointwise):
            args = tuple(found[a] for a in part.args)
            found[part] = Pointwise(part.op, args, shape=args[0].shape, dtype=part.dtype)
        else:
            found[part] = view(part, joined.parts[number].shape, lambda at: joined.place(number, at))
    return found[value]
