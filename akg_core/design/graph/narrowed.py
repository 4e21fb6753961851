"""Operands of products in f16, where the reference rounds them to a format with as many bits but a larger range.

f16 keeps ten bits of a fraction, as tf32 does, of numbers between 2^-14 and 65504. So an operand is multiplied by a
power of two that brings its numbers there: each row of the left one by its own, which its largest element says; all of
the right one by the same, which the largest element of a sample says, with room for larger ones. What f16 still does
not hold as exactly as the reference's format shows: larger numbers become infinite, and smaller ones, which would lose
bits, NaN. A sum that such a number is in is then not finite, and its tile is made again of operands in the reference's
format.
"""

from __future__ import annotations

import math

from akg_core.design.algebra.index import ceil_div, index, unflatten
from akg_core.design.graph.split_precision import power_of
from akg_core.design.graph.values import (
    Value,
    cast,
    compute,
    expand,
    fold,
    reshape,
    where,
    window,
)

HELD = ("tf32", "bf16")  # formats with no more bits than f16
LEAST = 2.0**-15  # the least number that is held: its last bit is twice as large as that of the reference's format
ROW_TOP = 2.0**14  # the largest element of a row is brought to [ROW_TOP, 2 ROW_TOP)
SAMPLE_TOP = 2.0**12  # the same of a sample: eight times larger elements are held, too
SAMPLED = 2**12  # elements of a sample
LARGEST = 2.0**48  # of larger numbers even the reference's sums might overflow


def row_scales(value: Value) -> Value:
    """The power of two, f32 [..., M], that takes each row of `value` [..., M, K] back to where it was."""
    (top,) = fold("max", compute("abs", value), (-1,), ("f32",))
    return _power(top, ROW_TOP)


def sample_scale(value: Value) -> Value:
    """The same for all of `value`, without dims."""
    step = ceil_div(value.size, SAMPLED)
    step = step if step.constant is None else index(step.constant | 1)  # no dim divides an odd step for certain
    sample = window(value, (index(SAMPLED),), lambda at: unflatten(at[0] * step, value.shape))
    (top,) = fold("max", compute("abs", sample), (0,), ("f32",))
    return _power(top, SAMPLE_TOP)


def narrowed(value: Value, back: Value) -> Value:
    """`value` in f16, divided by the power of two `back`, NaN where that is too small to keep its bits."""
    factor = compute("reciprocal", back)
    if back.shape:
        factor = expand(reshape(factor, (*back.shape, index(1))), value.shape)
    scaled = value * factor
    held = (compute("abs", scaled) >= LEAST) | value.equals(0.0)
    return cast(where(held, scaled, math.nan), "f16")


def _power(top: Value, wanted: float) -> Value:
    """The power of two that takes `wanted` to the size of `top`; 1 / wanted where that is 0."""
    return power_of(where(top.equals(0.0), 1.0, compute("clamp", top, 1 / LARGEST, LARGEST)), wanted)
