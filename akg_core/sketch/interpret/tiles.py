"""Tile values: a tensor with named axes, and how dtypes and axes of several tiles meet.

A tile's axes are a set to the language; here they are a tuple, because the tensor below needs an order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import torch
from torch import Tensor

from akg_core.dtypes import DTYPES, as_float, combine, is_float

TORCH: dict[str, torch.dtype] = {name: getattr(torch, dtype.torch) for name, dtype in DTYPES.items()}
NAMES = {dtype: name for name, dtype in TORCH.items()}


class TileError(Exception):
    """Tiles, axes or indices that do not fit. Who evaluates an expression adds its place: SketchError."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Tile:
    """A value of the language.

    `value` has one dimension for each of `axes`. `weak`: a literal, or a float known at launch: it takes the dtype of
    what it meets and is held in full precision until then. `uniform`: known to the host at launch. `origin`: set when
    the tile is origin, origin + 1, … along its only axis, so that loads and stores can slice.
    """

    value: Tensor
    axes: tuple[str, ...] = ()
    weak: bool = False
    uniform: bool = False
    origin: int | None = None

    @property
    def dtype(self) -> str:
        """The dtype in the language's sense: a weak float counts as f32."""
        return "f32" if self.weak and self.value.is_floating_point() else NAMES[self.value.dtype]

    def size(self, axis: str) -> int:
        return self.value.shape[self.axes.index(axis)]

    def dim(self, axis: str) -> int:
        """Which dimension of `value` is `axis`."""
        if axis not in self.axes:
            raise TileError("SK302", f"There is no axis {axis} in this {self}.")
        return self.axes.index(axis)

    def __str__(self) -> str:
        return f"{self.dtype} tile with axes {', '.join(self.axes)}" if self.axes else f"{self.dtype} scalar"


def literal(value: int | float | bool) -> Tile:
    """A number of the text: weak, exact."""
    if isinstance(value, int) and not isinstance(value, bool):
        return Tile(_int64(value), weak=True, uniform=True)
    dtype = torch.bool if isinstance(value, bool) else torch.float64
    return Tile(torch.tensor(value, dtype=dtype), weak=True, uniform=True)


def integer(value: int, uniform: bool = False) -> Tile:
    """An i64 scalar: a dimension (uniform), a counter or a bound."""
    return Tile(_int64(value), uniform=uniform)


@lru_cache(maxsize=4096)
def _int64(value: int) -> Tensor:
    return torch.tensor(value, dtype=torch.int64)


def positions(axis: str, start: int, stop: int) -> Tile:
    """The positions start … stop - 1 along `axis`."""
    return Tile(torch.arange(start, stop), (axis,), origin=start)


def union(tiles: Iterable[Tile]) -> tuple[str, ...]:
    """The axes of all tiles, each once, in order of first appearance."""
    return tuple(dict.fromkeys(axis for tile in tiles for axis in tile.axes))


def align(tile: Tile, axes: Sequence[str]) -> Tensor:
    """`tile` as a tensor that broadcasts over `axes`, which must hold the tile's own."""
    if not tile.axes or tile.axes == tuple(axes):
        return tile.value
    order = [tile.axes.index(axis) for axis in axes if axis in tile.axes]
    value = tile.value if order == sorted(order) else tile.value.permute(order)
    return value[tuple(slice(None) if axis in tile.axes else None for axis in axes)]


def check_sizes(tiles: Sequence[Tile], axes: Sequence[str]) -> None:
    """An axis has one extent; a tile kept from an earlier loop over an axis of the same name may have another."""
    if len(tiles) < 2:
        return
    for axis in axes:
        sizes = {tile.size(axis) for tile in tiles if axis in tile.axes}
        if len(sizes) > 1:
            raise TileError("SK507", f"Tiles of {min(sizes)} and of {max(sizes)} positions along the axis {axis} meet.")


@cache
def _combine(operands: tuple[tuple[str, bool], ...]) -> tuple[str, bool]:
    return combine(list(operands))


def meet(tiles: Sequence[Tile]) -> tuple[str, bool]:
    """The dtype in which tiles meet, and whether it is still a literal's."""
    return _combine(tuple((tile.dtype, tile.weak) for tile in tiles))


def elementwise(function: Callable[..., Tensor], tiles: Sequence[Tile], floating: bool = False) -> Tile:
    """`function` over tiles broadcast by name, in the dtype in which they meet (`floating`: ints become f32).

    What is known at launch is computed as a host does, in double: 1 / 3 in an f64 expression is not rounded
    to f32 first.
    """
    axes = union(tiles)
    check_sizes(tiles, axes)
    dtype, weak = meet(tiles)
    if floating:
        dtype = as_float(dtype)
    uniform = all(tile.uniform for tile in tiles)
    weak = weak or (uniform and is_float(dtype))
    held = torch.float64 if weak and is_float(dtype) else TORCH[dtype]
    operands = (align(tile, axes) for tile in tiles)
    result = function(*(value if value.dtype == held else value.to(held) for value in operands))
    return Tile(result, axes, weak, uniform)


def cast(tile: Tile, dtype: str) -> Tile:
    """`tile` in `dtype`, as torch converts: to nearest even, floats to integers by truncation.

    The result keeps its dtype, and so does what is made of it: a float is not uniform any more.
    """
    return Tile(tile.value.to(TORCH[dtype]), tile.axes, uniform=tile.uniform and not is_float(dtype))


def strong(tile: Tile) -> Tile:
    """`tile` with a dtype that it keeps: what a literal becomes in a variable that a loop carries."""
    return Tile(tile.value.to(TORCH[tile.dtype]), tile.axes)
