"""Runs a kernel without a GPU: its TIR, as TileLang's front end makes it, becomes a function of NumPy arrays.

It is the program that is compiled, before TileLang plans threads and layouts: programs run one after the other, what
T.Parallel goes over is computed at once, tile operations are operations on arrays. An access outside of its tensor is
an error, and so is a tensor of another shape. What threads do at the same time is not looked at.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from akg_plugin_tilelang.translate import translated


def prepare() -> None:
    """Have kernels simulated in this process: what TileLang is asked to compile is interpreted instead."""
    import tilelang

    tilelang.simulated, tilelang.compile = True, lambda function, **options: simulated(function)


def simulated(function: Any) -> Callable[..., None]:
    """The function of tensors on the host, and numbers, that a PrimFunc is; it writes to its tensors."""
    scope: dict[str, Any] = dict(HELPERS)
    exec(compile(translated(function), f"<{function.attrs['global_symbol']}>", "exec"), scope)

    def run(*arguments: Any) -> None:
        given = [_array(a) if isinstance(a, torch.Tensor) else a for a in arguments]
        with np.errstate(all="ignore"):
            scope["run"](*given)

    return run


def _array(tensor: torch.Tensor) -> Any:
    """The tensor's memory as an array; one without dimensions has one element."""
    tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:
        import ml_dtypes

        array = tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    else:
        array = (tensor.view(torch.uint8) if tensor.dtype == torch.bool else tensor).numpy()
    return array if array.ndim else array.reshape(1)


# --- what translated functions call ---


@functools.cache
def dtype(name: str) -> Any:
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def new(shape: tuple[int, ...], name: str) -> Any:
    """A buffer with what nobody may take for a result: NaN, or the least whole number but one."""
    kind = dtype(name)
    return np.full(shape, np.iinfo(kind).min + 1 if kind.kind in "iu" else np.nan, kind)


def lanes(count: int, place: int, of: int) -> Any:
    return np.arange(count, dtype=np.int32).reshape([-1 if n == place else 1 for n in range(of)])


def cast(value: Any, name: str) -> Any:
    return np.asarray(value).astype(dtype(name))[()]


def reinterpret(value: Any, name: str) -> Any:
    return np.asarray(value).view(dtype(name))[()]


def _places(buffer: Any, guard: Any, indices: tuple[Any, ...]) -> tuple[Any, ...]:
    """Indices that lie inside where the guard holds, and 0 elsewhere. Raises IndexError where they do not."""
    found = []
    for number, (index, size) in enumerate(zip(indices, buffer.shape, strict=True)):
        index = np.asarray(index)
        if index.size and (index.min() < 0 or index.max() >= size):
            outside = (index < 0) | (index >= size)
            if guard is None or np.any(outside & guard):
                raise IndexError(f"index {number} is outside of a dimension of {size}")
            index = np.where(outside, 0, index)
        found.append(index)
    return tuple(found)


def load(buffer: Any, guard: Any, *indices: Any) -> Any:
    if not buffer.size and guard is not None and not np.any(guard):
        return buffer.dtype.type(0)
    return buffer[_places(buffer, guard, indices)]


def inside(index: int, size: int) -> int:
    """The index of one place along a dimension. Raises IndexError where it has none."""
    if not 0 <= index < size:
        raise IndexError(f"an index is outside of a dimension of {size}")
    return index


def store(buffer: Any, guard: Any, value: Any, *indices: Any) -> None:
    if guard is None:
        value, *places = np.broadcast_arrays(value, *indices)
        buffer[_places(buffer, None, tuple(places))] = value
        return
    guard, value, *places = np.broadcast_arrays(guard, value, *indices)
    buffer[_places(buffer, None, tuple(place[guard] for place in places))] = value[guard]


def together(program: Callable[[int], Iterator[None]], count: int) -> None:
    """Run programs that wait for each other: each until it waits, and those that wait when one has come through."""
    ended = object()
    waiting: list[Iterator[None]] = []
    for number in range(count):
        waiting.append(program(number))
        if next(waiting[-1], ended) is ended:
            waiting = [each for each in waiting[:-1] if next(each, ended) is not ended]
    while waiting:
        waiting = [each for each in waiting if next(each, ended) is not ended]


def atomic(function: Any, buffer: Any, guard: Any, value: Any, *indices: Any) -> None:
    guard, value, *places = np.broadcast_arrays(True if guard is None else guard, value, *indices)
    function.at(buffer, _places(buffer, None, tuple(place[guard] for place in places)), value[guard])


def reduce(source: Any, target: Any, kind: str, place: int, clear: bool) -> None:
    """TileLang's extremes pass over NaNs, as the GPU's instructions do."""
    function = {"sum": np.add, "max": np.fmax, "min": np.fmin}[kind]
    found = function.reduce(source, axis=place, dtype=source.dtype).reshape(target.shape)
    target[...] = found if clear else function(target, found)


def copy(source: Any, target: Any) -> None:
    """Copy a box. Of what lies behind the end of its tensor a tile gets 0, and nothing of a tile goes there."""
    if source.size == target.size:
        target[...] = source.reshape(target.shape)
        return
    dims = min(source.ndim, target.ndim)
    source, target = (box[(0,) * (box.ndim - dims)] for box in (source, target))
    inside = tuple(map(slice, map(min, source.shape, target.shape)))
    target[...] = 0
    target[inside] = source[inside]


def gemm(a: Any, b: Any, c: Any, turn_a: bool, turn_b: bool, clear: bool) -> None:
    """Matrix units take of f32 factors the bits of tf32, and add up in f32."""
    a, b = ((f.view(np.int32) & -0x2000).view(np.float32) if f.dtype == np.float32 else f for f in (a, b))
    left, right = (a.T if turn_a else a).astype(c.dtype), (b.T if turn_b else b).astype(c.dtype)
    c[...] = left @ right + (0 if clear else c)


def im2col(image: Any, tile: Any, rows: int, step: int, kernel: int, stride: int, dilation: int, pad: int) -> None:
    """Tile `rows` of the pixels of all results, and tile `step` of taps and channels; 0 beyond the last image.

    Of windows of which there are as many as pixels, or one for every `stride` of these, along each side.
    """
    images, *sizes, channels = image.shape
    height, width = ((size - 1) // stride + 1 for size in sizes)
    image = np.pad(image, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    pixels, taps = (np.arange(size) + n * size for size, n in zip(tile.shape, (rows, step), strict=True))
    image_of, row, column = np.unravel_index(pixels % (images * height * width), (images, height, width))
    down, across, channel = np.unravel_index(taps, (kernel, kernel, channels))
    found = image[
        image_of[:, None],
        row[:, None] * stride + down * dilation,
        column[:, None] * stride + across * dilation,
        channel,
    ]
    tile[...] = np.where(pixels[:, None] < images * height * width, found, 0)


def truncated(a: Any, b: Any) -> Any:
    return (
        np.trunc(np.true_divide(a, b))
        if np.asarray(a).dtype.kind == "f"
        else np.sign(a) * np.sign(b) * (abs(a) // abs(b))
    )


def equal(said: Any, found: int) -> None:
    if int(said) != found:
        raise ValueError(f"a tensor has {found} places along a dimension of {said}")


def _one_by_one(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """A function that NumPy lacks; that of a library would count as called by the kernel."""
    each = np.vectorize(function, otypes=[np.float64])
    return lambda x: each(x).astype(np.asarray(x).dtype)[()]


HELPERS: dict[str, Any] = {
    "np": np,
    "math": math,
    **{each.__name__: each for each in (dtype, new, lanes, cast, reinterpret, load, store, atomic, reduce, copy, gemm)},
    **{each.__name__: each for each in (im2col, truncated, equal, inside, together)},
    **{each.__name__: _one_by_one(each) for each in (math.erf, math.erfc)},
}
