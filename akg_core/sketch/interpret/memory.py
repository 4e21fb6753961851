"""Loads, stores and atomics of tiles: the only way between tensors and values.

Each gives the number of elements that it touched besides its result, for counting.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from akg_core.sketch.interpret.tiles import NAMES, Tile, TileError, align, check_sizes, union


def load(tensor: Tensor, indices: Sequence[Tile], other: Tile) -> tuple[Tile, int]:
    """The values at `indices`, one index tile a dimension; `other` where an index is outside the tensor."""
    window = _window(tensor, indices)
    if window is not None:
        picks, axes = window
        value = tensor[picks].clone()  # a later store must not change the tile
        return Tile(value, axes), value.numel()
    axes, linear, inside = _places(tensor, indices)
    fill = align(other, axes).to(tensor.dtype)
    if tensor.numel() == 0:
        return Tile(fill.expand(linear.shape).clone(), axes), 0
    value = torch.where(inside, tensor.view(-1)[linear], fill)
    return Tile(value, axes), int(inside.sum())


def store(tensor: Tensor, indices: Sequence[Tile], value: Tile) -> int:
    """Write `value`, converted to the tensor's dtype; an index outside the tensor writes nothing."""
    window = _window(tensor, indices)
    if window is not None:
        picks, axes = window
        _check_axes(value, axes)
        check_sizes([value, *indices], axes)
        tensor[picks] = align(value, axes).to(tensor.dtype)
        return tensor[picks].numel()
    places, values = _lanes(tensor, indices, value)
    tensor.view(-1)[places] = values
    return places.numel()


def atomic(name: str, tensor: Tensor, indices: Sequence[Tile], value: Tile) -> int:
    """Combine `value` into the tensor; all lanes that hit the same place count."""
    places, values = _lanes(tensor, indices, value)
    flat = tensor.view(-1)
    if name == "atomic_add":
        flat.index_put_((places,), values, accumulate=True)
    else:
        flat.scatter_reduce_(0, places, values, "amax" if name == "atomic_max" else "amin", include_self=True)
    return places.numel()


def _window(tensor: Tensor, indices: Sequence[Tile]) -> tuple[tuple[int | slice, ...], tuple[str, ...]] | None:
    """The places as slices and their axes, when each index is a scalar or a run of positions, all inside."""
    _check_indices(tensor, indices)
    picks: list[int | slice] = []
    axes: list[str] = []
    for size, index in zip(tensor.shape, indices, strict=True):
        if not index.axes:
            start, stop = int(index.value), int(index.value) + 1
            picks.append(start)
        elif index.origin is not None and index.axes[0] not in axes:
            start, stop = index.origin, index.origin + index.value.shape[0]
            picks.append(slice(start, stop))
            axes.append(index.axes[0])
        else:
            return None
        if start < 0 or stop > size:
            return None
    return tuple(picks), tuple(axes)


def _places(tensor: Tensor, indices: Sequence[Tile]) -> tuple[tuple[str, ...], Tensor, Tensor]:
    """The axes of the indices, the flat place of each lane (0 where outside) and which lanes are inside."""
    axes = union(indices)
    check_sizes(indices, axes)
    linear, inside = torch.zeros((), dtype=torch.int64), torch.ones((), dtype=torch.bool)
    for size, stride, index in zip(tensor.shape, tensor.stride(), indices, strict=True):
        position = align(index, axes).to(torch.int64)
        inside = inside & (position >= 0) & (position < size)
        linear = linear + position * stride
    return axes, torch.where(inside, linear, 0), inside


def _lanes(tensor: Tensor, indices: Sequence[Tile], value: Tile) -> tuple[Tensor, Tensor]:
    """Flat places and values of the lanes that are inside."""
    _check_indices(tensor, indices)
    axes, linear, inside = _places(tensor, indices)
    _check_axes(value, axes)
    check_sizes([value, *indices], axes)
    return linear[inside], align(value, axes).to(tensor.dtype).expand(linear.shape)[inside]


def _check_indices(tensor: Tensor, indices: Sequence[Tile]) -> None:
    if len(indices) != tensor.dim():
        raise TileError("SK305", f"{len(indices)} indices for a tensor of {tensor.dim()} dimensions.")
    for index in indices:
        if index.value.is_floating_point() or index.value.dtype == torch.bool:
            raise TileError("SK403", f"An index is an integer, not {NAMES[index.value.dtype]}.")


def _check_axes(value: Tile, axes: Sequence[str]) -> None:
    lacking = [axis for axis in value.axes if axis not in axes]
    if lacking:
        raise TileError("SK304", f"The value has the axis {lacking[0]}, which the places stored to lack.")
