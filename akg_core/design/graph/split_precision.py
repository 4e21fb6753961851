"""Products of f32 as three products of f16 halves, for chips whose matrix units multiply f16 many times faster.

Each row of the left operand and each column of the right one is scaled by a power of two that brings its largest
element near the largest f16, and split: x * scale = high + low / LOW, two f16 numbers with 22 bits of it. The product
is high * high + (high * low + low * high) / LOW, taken back by both powers; what is left out, low * low, is below
2^-22 of each term. So each term is about as exact as in f32, however rows and columns differ, provided that in each

- the elements that are not zero are within a factor of SPREAD of each other: far smaller ones would lose bits,
- the largest lies between 1 / LARGEST and LARGEST: sums then neither overflow nor vanish,
- all are finite.

The factor `back` of any other row or column is NaN, and tiles that such a line crosses are multiplied again in f32.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import prod

from akg_core.design.algebra.index import Axis, Index, ceil_div, flatten, index, position
from akg_core.design.graph.anchors import operands
from akg_core.design.graph.values import (
    Pointwise,
    Positions,
    Product,
    Shape,
    Value,
    View,
    Window,
    cast,
    compute,
    expand,
    fold,
    permute,
    reshape,
    where,
    window,
)

LOW = 2.0**11  # what the rest is multiplied by: it then has the exponent of what it is the rest of
TOP = 2.0**14  # a line's largest element is brought to [TOP, 2 TOP)
SPREAD = 2.0**32  # elements below TOP / SPREAD would have less than 18 bits
LARGEST = 2.0**64
LEAST_TILES = 32  # of work for each unit
LEAST_USES = 0.5  # of an element, for which its scale is looked for
STORED_USES = 1.5  # of an element, for which it is split ahead
_SMALLEST_TILE = 16


@dataclass(frozen=True, slots=True)
class Halves:
    """An operand [*batch, M, K] or [*batch, K, N] in halves, padded with zeros.

    `order`: the dim of the operand that each dim of `high` and `low` is. `back`: f32 [*batch, M] or [*batch, N], the
    power of two that takes a line back, NaN for a line that the halves do not hold. `stored`: whether `high` and `low`
    are in memory, rather than made of the operand where they are used.
    """

    high: Value
    low: Value
    back: Value
    order: tuple[int, ...]
    stored: bool

    @property
    def shape(self) -> Shape:
        """The padded shape, its dims as the operand's."""
        return tuple(self.high.shape[self.order.index(d)] for d in range(len(self.order)))

    def place(self, at: Positions) -> Positions:
        """The place in `high` and `low` of a position in the operand."""
        return tuple(at[d] for d in self.order)


@dataclass(frozen=True, slots=True)
class SplitPrecision:
    """Which products are made of halves: those with work enough for the kernels before them.

    `tile`: rows, columns and contracted positions of a good tile, to which halves are padded. `units`: of the chip.
    """

    tile: tuple[int, int, int]
    units: int

    def of(self, product: Product) -> tuple[Halves, Halves] | None:
        """Both operands in halves; None where that does not pay, or where a size is not known."""
        (*batch, m, k), n = product.left.shape, product.right.shape[-1]
        if product.narrow or {product.dtype, product.left.dtype, product.right.dtype} != {"f32"}:
            return None
        if any(s.constant is None for s in (*batch, m, n, k)) or not (_plain(product.left) and _plain(product.right)):
            return None
        if k.example < _SMALLEST_TILE or product.size.example * k.example < LEAST_TILES * self.units * prod(self.tile):
            return None
        uses = m.example * n.example / (m.example + n.example) / max(self.tile[:2])  # tiles that an element is in
        if uses < LEAST_USES:
            return None
        stored = uses >= STORED_USES
        m, n, k = (_whole_tiles(size, tile) for size, tile in zip((m, n, k), self.tile, strict=True))
        return _halved(product.left, -1, (*batch, m, k), stored), _halved(product.right, -2, (*batch, k, n), stored)


def _plain(value: Value) -> bool:
    """Whether no element of `value` is one of several that are seen or computed from the same."""
    match value:
        case View(arg=arg) | Pointwise(op="copy" | "cast", args=(arg,)):
            return value.size.example <= arg.size.example and _plain(arg)
        case Window():
            return False
    return True


def _whole_tiles(size: Index, tile: int) -> Index:
    """The size in whole tiles, which are halved for sizes that would not fill half of one."""
    while tile > _SMALLEST_TILE and 2 * size.example <= tile:
        tile //= 2
    return size if size.exact(index(tile)) is not None else ceil_div(size, tile) * tile


def _halved(value: Value, contracted: int, shape: Shape, stored: bool) -> Halves:
    """The halves of an operand, padded to `shape`; the dim `contracted` runs along the lines that have one scale."""
    order = _order(value)
    dim = order.index(len(shape) + contracted)
    value, shape = permute(value, order), tuple(shape[d] for d in order)
    size = compute("abs", value)
    (top,) = fold("max", size, (dim,), ("f32",))
    (least,) = fold("min", where(value.equals(0.0), math.inf, size, "f32"), (dim,), ("f32",))
    nothing = top.equals(0.0)
    held = (nothing | (top >= 1 / LARGEST)) & (top <= LARGEST)
    back = where(held & (least >= top * (1 / SPREAD)), power_of(where(nothing, 1.0, top)), math.nan)
    lines = tuple(s for d, s in enumerate(shape) if d != dim)
    spread = tuple(index(1) if d == dim else s for d, s in enumerate(shape))
    factor = compute("reciprocal", _padded(back, lines, 1.0))
    scaled = _padded(value, shape, 0.0) * expand(reshape(factor, spread), shape)
    high = cast(scaled, "f16")
    rest = scaled - cast(high, "f32")
    return Halves(high, cast(rest * LOW, "f16"), back, order, stored)


def power_of(top: Value, wanted: float = TOP) -> Value:
    """The power of two that takes `wanted` to the size of `top`, as a line back whose largest element that is."""
    return compute("exp2", compute("floor", compute("log2", top))) * (1 / wanted)


def _padded(value: Value, shape: Shape, fill: float) -> Value:
    return value if value.shape == shape else window(value, shape, lambda at: at, fill)


def _order(value: Value) -> tuple[int, ...]:
    """The dims of `value`, the last two as they follow each other in memory."""
    dims = tuple(range(len(value.shape)))
    axes = [Axis(f"d{d}", size) for d, size in enumerate(value.shape)]
    at = tuple(map(position, axes))
    while isinstance(value, View) or (isinstance(value, Pointwise) and value.op in ("copy", "cast")):
        at = value.rule(at) if isinstance(value, View) else at
        (value,) = operands(value)
    far, near = (flatten(at, value.shape).coefficient(axis) for axis in axes[-2:])
    if far is None or near is None or far.example >= near.example:
        return dims
    return (*dims[:-2], dims[-1], dims[-2])
