"""Elementwise values that one kernel would compute at many places for each of its own, as stencils on stencils do, and
random numbers that one would draw again for many sums, as weights that forward draws.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from akg_core.design.graph.anchors import anchor_of, operands
from akg_core.design.graph.reach import parts_first
from akg_core.design.graph.values import Concat, Gather, Pointwise, Product, Value, View, Window

MOST = 16  # places of a value for one of what reads it; what asks for more is stored, so that kernels stay short
LONGEST = 128  # operations at these places, where they are more than
FEW = 4
_DRAWS = 64  # rows, or columns, of a product that are made of one draw of what they share

Way = tuple[Any, int]  # from what is stored or an anchor: that, and a hash of the views on the way


def often_read(roots: Iterable[Value]) -> list[Value]:
    """Values below `roots` to be stored rather than computed again at each place, parts before wholes."""
    order: dict[Value, None] = {}
    for root in roots:
        order.update(dict.fromkeys(parts_first(root, order)))
    ways: dict[Value, set[Way]] = {value: set() for value in order}
    read = {part for value in order for part in operands(value)}
    times = dict.fromkeys(order, 0)  # how often elements of a value are computed for anchors, all of them together
    found: list[Value] = []
    for value in reversed(order):
        here = ways[value] if value in read and anchor_of(value) is None else {(value, 0)}
        if isinstance(value, Pointwise) and (
            _is_often(value, max(Counter(root for root, _ in here).values())) or _is_drawn_again(value, times[value])
        ):
            found.append(value)
            here, times[value] = {(value, 0)}, value.size.example
        for number, part in enumerate(operands(value)):
            ways[part] |= _below(value, number, here)
            times[part] = max(times[part], _computed(value, number, times[value]))
    return found[::-1]


def _is_drawn_again(value: Pointwise, times: int) -> bool:
    """Whether a random number is drawn for each element, and elements are computed `times` all together."""
    if times <= FEW * value.size.example:
        return False
    alike = parts_first(value, parts=lambda part: () if anchor_of(part) else operands(part))
    return any(isinstance(part, Pointwise) and part.op == "rand" for part in alike)


def _computed(value: Value, number: int, times: int) -> int:
    """How many elements of an operand are computed for `times` of a value."""
    size = operands(value)[number].size.example
    if isinstance(value, Product) and number < 2:
        return size * max(value.shape[-1 - number].example // _DRAWS, 1)
    return size if anchor_of(value) is not None else times


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
