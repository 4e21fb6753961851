"""What each operation of the language computes, on tile values.

The names are those of `akg_core.sketch.ops.OPERATIONS`; loads, stores and loops are elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from akg_core import philox
from akg_core.dtypes import BITS, FLOATS, as_sum, is_float
from akg_core.notation import FUNCTIONS
from akg_core.sketch import numerics
from akg_core.sketch.interpret.tiles import (
    NAMES,
    TORCH,
    Tile,
    TileError,
    align,
    cast,
    check_sizes,
    elementwise,
    meet,
    union,
)
from akg_core.sketch.ops import OPERATIONS

_RENAMED: dict[str, Callable[..., Tensor]] = {
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "softplus": lambda x: torch.log1p(torch.exp(-x.abs())) + torch.clamp_min(x, 0),
    "clamp": lambda x, low, high: torch.minimum(torch.maximum(x, low), high),
    "bits": lambda x: x.view(TORCH[BITS[NAMES[x.dtype]]]),
    "from_bits": lambda x: x.view(TORCH[FLOATS[NAMES[x.dtype]]]),
}
ELEMENTWISE: dict[str, Callable[..., Tensor]] = {
    name: _RENAMED.get(name) or getattr(torch, name)
    for name, operation in OPERATIONS.items()
    if operation.kind == "elementwise" and name != "where"
}
UNARY: dict[str, Callable[..., Tensor]] = {"-": torch.neg, "not": torch.logical_not, "~": torch.bitwise_not}
BINARY: dict[str, Callable[..., Tensor]] = FUNCTIONS | {
    "<<": torch.bitwise_left_shift,
    ">>": torch.bitwise_right_shift,
    "and": torch.logical_and,
    "or": torch.logical_or,
}
# What costs a polynomial rather than an instruction.
TRANSCENDENTAL = {n for n, o in OPERATIONS.items() if o.kind == "elementwise" and o.dtype == "float"} | {"**"}


def where(condition: Tile, a: Tile, b: Tile) -> Tile:
    """`a` where the condition holds, else `b`, in the dtype in which these two meet."""
    tiles = (condition, a, b)
    axes = union(tiles)
    check_sizes(tiles, axes)
    dtype, weak = meet((a, b))
    uniform = all(tile.uniform for tile in tiles)
    weak = uniform and (weak or is_float(dtype))
    held = torch.float64 if weak and is_float(dtype) else TORCH[dtype]
    chosen = torch.where(align(condition, axes).to(torch.bool), align(a, axes).to(held), align(b, axes).to(held))
    return Tile(chosen, axes, weak, uniform)


def apply(name: str, tiles: Sequence[Tile]) -> Tile:
    """An elementwise operation by name, operators included."""
    if name == "where":
        return where(*tiles)
    if name in OPERATIONS:
        return elementwise(ELEMENTWISE[name], tiles, floating=OPERATIONS[name].dtype == "float")
    table = UNARY if len(tiles) == 1 else BINARY
    return elementwise(table[name], tiles, floating=name == "/")


# --- along axes ---------------------------------------------------------------------------------------


def reduce(name: str, tile: Tile, axes: Sequence[str]) -> Tile:
    """`reduce_sum`, `reduce_max`, … over `axes`. Over no positions it gives the operation's neutral element."""
    dims = [tile.dim(axis) for axis in axes]
    rest = tuple(axis for axis in tile.axes if axis not in axes)
    value, dtype = tile.value, tile.dtype
    held = TORCH[numerics.reduction_dtype(name, dtype)]
    if name == "reduce_sum":
        result = value.sum(dims, dtype=held)
    elif name == "reduce_prod":
        result = value.to(held)
        for dim in sorted(dims, reverse=True):
            result = result.prod(dim)
    elif name in ("reduce_any", "reduce_all"):
        return Tile((torch.any if name == "reduce_any" else torch.all)(value.to(torch.bool), dims), rest)
    else:
        if any(value.shape[dim] == 0 for dim in dims):
            shape = [value.shape[tile.axes.index(axis)] for axis in rest]
            return Tile(torch.full(shape, numerics.identity(name, dtype), dtype=value.dtype), rest)
        return Tile(value.amax(dims) if name == "reduce_max" else value.amin(dims), rest)
    return Tile(result.to(TORCH[as_sum(dtype)]), rest)


def argreduce(name: str, tile: Tile, axis: str, begin: int) -> Tile:
    """Position on `axis` (whose tile starts at `begin`) of the extreme: the first of equals; a NaN is extreme."""
    dim, value = tile.dim(axis), tile.value
    if value.shape[dim] == 0:
        raise TileError("SK703", f"{name} over the axis {axis} has no position to name: the axis is empty.")
    extreme = value.amax(dim, keepdim=True) if name == "argmax" else value.amin(dim, keepdim=True)
    # a NaN makes the extreme NaN, which equals nothing: then only the NaNs are hits
    hit = (value == extreme) | value.isnan()
    at = torch.arange(begin, begin + value.shape[dim]).reshape([-1 if d == dim else 1 for d in range(value.dim())])
    first = torch.where(hit, at, torch.iinfo(torch.int64).max).amin(dim)
    return Tile(first, tuple(a for a in tile.axes if a != axis))


def scan(name: str, tile: Tile, axis: str, reverse: bool) -> Tile:
    """Running sum, product, maximum or minimum along `axis`, each position included."""
    dim, dtype = tile.dim(axis), tile.dtype
    value = tile.value.flip(dim) if reverse else tile.value
    if name in ("scan_sum", "scan_prod"):
        function = torch.cumsum if name == "scan_sum" else torch.cumprod
        value = function(value.to(TORCH[numerics.scan_dtype(name, dtype)]), dim).to(TORCH[as_sum(dtype)])
    else:
        value = (torch.cummax if name == "scan_max" else torch.cummin)(value, dim).values
    return Tile(value.flip(dim) if reverse else value, tile.axes)


def sort(tile: Tile, axis: str, bitonic: bool) -> Tile:
    """The elements along `axis`, the least first. Raises TileError where they are said to be `bitonic` and are not."""
    value, dim = tile.value, tile.dim(axis)
    if bitonic and (count := value.shape[dim]) > 1:
        before, after = value.narrow(dim, 0, count - 1), value.narrow(dim, 1, count - 1)
        if ((after < before).cummax(dim).values & (after > before)).any():
            raise TileError("SK706", f"sort over {axis} is told of elements that rise, then fall. These rise again.")
    return Tile(value.sort(dim).values, tile.axes)


def pick(name: str, tile: Tile, axis: str) -> Tile:
    """The value at the first or the last position of the tile along `axis`."""
    value = tile.value.select(tile.dim(axis), 0 if name == "first" else -1)
    return Tile(value, tuple(a for a in tile.axes if a != axis))


def contract(a: Tile, b: Tile, over: Sequence[str], into: Tile | None) -> Tile:
    """Sum of products over `over`; axes that both have besides are batch. `into`, when given, is added to.

    f16, bf16 and f32 accumulate in f32, f64 in f64, ints in i64 (i32 into i32).
    """
    for axis in over:
        a.dim(axis), b.dim(axis)
    axes = union((a, b))
    check_sizes((a, b), axes)
    kept = tuple(axis for axis in axes if axis not in over)
    dtype = numerics.dot_dtype(a.dtype, b.dtype)
    letters = {axis: chr(ord("a") + number) for number, axis in enumerate(axes)}
    spell = lambda names: "".join(letters[axis] for axis in names)  # noqa: E731
    equation = f"{spell(a.axes)},{spell(b.axes)}->{spell(kept)}"
    product = Tile(torch.einsum(equation, a.value.to(TORCH[dtype]), b.value.to(TORCH[dtype])), kept)
    if into is None:
        return product
    if set(into.axes) != set(kept):
        raise TileError("SK501", f"dot gives the axes {', '.join(kept)}; `into` is a {into}.")
    return Tile(into.value + align(product, into.axes).to(into.value.dtype), into.axes)


# --- numbers and indices --------------------------------------------------------------------------------


def split(index: Tile, sizes: Sequence[Tile]) -> tuple[Tile, ...]:
    """Mixed-radix digits of `index`, most significant first; the first is unbounded."""
    digits = []
    for size in reversed(sizes[1:]):
        digits.append(elementwise(torch.remainder, (index, size)))
        index = elementwise(BINARY["//"], (index, size))
    return tuple(Tile(digit.value, digit.axes) for digit in (index, *reversed(digits)))


def split_float(tile: Tile, dtype: str) -> tuple[Tile, Tile]:
    """A narrow tile and what it leaves, narrow too: their sum is close to `tile`."""
    high = tile.value.to(TORCH[dtype])
    low = (tile.value - high.to(tile.value.dtype)).to(TORCH[dtype])
    return Tile(high, tile.axes), Tile(low, tile.axes)


def round_to(tile: Tile, form: str) -> Tile:
    """Rounded to a narrower format, dtype kept: to nearest; a tie goes to even, in tf32 away from zero.

    That is how hardware with tf32 converts to it (PTX `cvt.rna.tf32.f32`).
    """
    if form != "tf32":
        return cast(cast(tile, form), tile.dtype)
    wide = tile.value.to(torch.float32)
    kept = ((wide.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)
    return Tile(torch.where(wide.isfinite(), kept, wide).to(tile.value.dtype), tile.axes)


def rand(seed: Tile, index: Tile) -> Tile:
    """Uniform f32 in [0, 1) for each 64-bit index."""
    drawn = elementwise(philox.uniform, (cast(seed, "i64"), cast(index, "i64")))
    return Tile(drawn.value, drawn.axes)
