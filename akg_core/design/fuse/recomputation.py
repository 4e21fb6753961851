"""Elementwise values that one kernel would compute at many places for each of its own, as stencils on stencils do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from akg_core.design.graph.anchors import anchor_of, operands
from akg_core.design.graph.reach import parts_first
from akg_core.design.graph.values import Concat, Gather, Pointwise, Value, View, Window

MOST = 16  # places of a value for one of what reads it; what asks for more is stored, so that kernels stay short
LONGEST = 128  # operations at these places, where they are more than
FEW = 4

Way = tuple[Any, int]  # from what is stored or an anchor: that, and a hash of the views on the way


def often_read(roots: Iterable[Value]) -> list[Value]:
    """Values below `roots` to be stored rather than computed again at each place, parts before wholes."""
    order: dict[Value, None] = {}
    for root in roots:
        order.update(dict.fromkeys(parts_first(root, order)))
    ways: dict[Value, set[Way]] = {value: set() for value in order}
    read = {part for value in order for part in operands(value)}
    found: list[Value] = []
    for value in reversed(order):
        here = ways[value] if value in read and anchor_of(value) is None else {(value, 0)}
        if isinstance(value, Pointwise) and _is_often(value, max(Counter(root for root, _ in here).values())):
            found.append(value)
            here = {(value, 0)}
        for number, part in enumerate(operands(value)):
            ways[part] |= _below(value, number, here)
    return found[::-1]


def _is_often(value: Value, places: int) -> bool:
    if places <= FEW:
        return False
    below = parts_first(value, parts=lambda part: () if anchor_of(part) else operands(part))
    return places > MOST or places * sum(isinstance(part, Pointwise) for part in below) > LONGEST


def _below(value: Value, number: int, here: set[Way]) -> set[Way]:
    """The ways to an operand of a value."""
    if isinstance(value, Concat):  # whose parts are written one by one
        return {((root, number), way) for root, way in here}
    if isinstance(value, (View, Window)) or (isinstance(value, Gather) and number == 0):
        step = value.move if isinstance(value, View) and value.move is not None else value
        return {(root, hash((way, step))) for root, way in here}
    return here
