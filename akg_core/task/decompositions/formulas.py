"""Formulas of PyTorch's operators that its own table of decompositions lacks. Worker side only."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._decomp import decomposition_table

_BILINEAR, _NEAREST = 0, 1  # PyTorch's numbers for how to interpolate
_ZEROS, _BORDER, _REFLECTION = 0, 1, 2  # and for what lies beyond an end
_HALVINGS, _DEGREE, _BLOCK = 18, 19, 4  # of a matrix and of its exponential's polynomial

_bicubic = decomposition_table[torch.ops.aten.grid_sampler_2d.default]


def decompositions() -> dict[Any, Callable[..., Any]]:
    """The formulas, for a table of decompositions."""
    aten = torch.ops.aten
    return {
        aten._pdist_forward.default: _pairwise_distances,
        aten.fractional_max_pool2d.default: _fractional_max_pool,
        aten.fractional_max_pool3d.default: _fractional_max_pool,
        aten.fft_fftfreq.default: _frequencies,
        aten.fft_rfftfreq.default: _frequencies_of_half,
        aten.embedding_renorm.default: _renormalised,
        aten.grid_sampler_2d.default: _grid_sampler,
        aten.grid_sampler_3d.default: _grid_sampler,
        aten.linalg_matrix_exp.default: _matrix_exponential,
        aten.linalg_pinv.atol_rtol_tensor: _pseudo_inverse,
        aten.angle.default: _angle,
        aten.nonzero_static.default: _first_places,
        **quantising(),
    }


def quantising() -> dict[Any, Callable[..., Any]]:
    """Those of what is rounded to steps of a scale, in the dtype of its arguments."""
    aten = torch.ops.aten
    return {
        aten.fake_quantize_per_tensor_affine_cachemask.default: _quantised,
        aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default: _quantised_if_on,
        aten.fake_quantize_per_channel_affine_cachemask.default: _quantised_by_channel,
    }


def _pairwise_distances(x: Tensor, p: float = 2.0) -> Tensor:
    """The distance of each two different rows of x [N, M]: [N (N - 1) / 2]."""
    first, second = torch.triu_indices(x.shape[0], x.shape[0], 1, device=x.device)
    return torch.linalg.vector_norm(x[first] - x[second], p, -1)


def _fractional_max_pool(x: Tensor, taps: list[int], out: list[int], samples: Tensor) -> tuple[Tensor, Tensor]:
    """The largest of each window of x [*lead, *sizes], and where it is in its plane: [*lead, *out].

    Where windows start follows from samples [N, C, D], the last size's first where there are two; from the first of N
    where x has no batch.
    """
    rank = len(taps)
    lead, sizes = x.shape[:-rank], x.shape[-rank:]
    samples = samples if len(lead) > 1 else samples[:1]
    samples = (samples.flip(-1) if rank == 2 else samples).reshape(*lead, rank, 1)
    place = torch.zeros((), dtype=torch.int64, device=x.device)
    for d in range(rank):
        n, sample = torch.arange(out[d], device=x.device), samples[..., d, :]
        last, step = sizes[d] - taps[d], (sizes[d] - taps[d]) / max(out[d] - 1, 1)
        start = ((n + sample) * step).to(torch.int64) - (sample * step).to(torch.int64)
        along = torch.where(n == out[d] - 1, last, start)[..., None] + torch.arange(taps[d], device=x.device)
        sides = (size if e == d else 1 for of in (out, taps) for e, size in enumerate(of))
        place = place * sizes[d] + along.reshape(*lead, *sides)
    place = place.flatten(-rank)
    seen = x.flatten(-rank).gather(-1, place.flatten(len(lead))).reshape(place.shape)
    return seen.amax(-1), place.gather(-1, seen.argmax(-1, keepdim=True)).squeeze(-1)


def _frequencies(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, **_: Any) -> Tensor:
    """The frequencies of a transform of n places that are d apart: those below 0 come last."""
    place = torch.arange(n, dtype=dtype or torch.get_default_dtype(), device=device)
    return torch.where(place * 2 < n, place, place - n) * (1.0 / (n * d))


def _frequencies_of_half(n: int, d: float = 1.0, *, dtype: Any = None, device: Any = None, **_: Any) -> Tensor:
    return torch.arange(n // 2 + 1, dtype=dtype or torch.get_default_dtype(), device=device) * (1.0 / (n * d))


def _angle(x: Tensor) -> Any:
    """0, or pi of what is negative, of numbers that are real."""
    if x.is_complex():
        return NotImplemented
    x = x if x.is_floating_point() else x.to(torch.get_default_dtype())
    return torch.where(x.isnan(), x, torch.where(x < 0, math.pi, 0.0).to(x.dtype))


def _first_places(x: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The places [size, D] of the first elements of x that are not zero, `fill_value` behind the last."""
    flat = (x != 0).reshape(-1)
    number = torch.where(flat, flat.to(torch.int64).cumsum(0) - 1, size).clamp(max=size)
    along = torch.meshgrid(*(torch.arange(n, device=x.device) for n in x.shape), indexing="ij")
    places = torch.stack([each.reshape(-1) for each in along], -1)
    found = torch.full((size + 1, x.dim()), fill_value, dtype=torch.int64, device=x.device)
    return found.index_put((number,), places)[:size]


def _renormalised(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """The rows of weight [N, M] that indices name, made as short as `max_norm` where they are longer."""
    named = torch.zeros(weight.shape[0], dtype=torch.int32, device=weight.device)
    named = named.index_add(0, indices.reshape(-1), torch.ones_like(indices.reshape(-1), dtype=torch.int32))
    norm = torch.linalg.vector_norm(weight, norm_type, 1)
    factor = torch.where((named > 0) & (norm > max_norm), max_norm / (norm + 1e-7), 1.0)
    return weight * factor[:, None]


def _grid_sampler(x: Tensor, grid: Tensor, mode: int, padding: int, align_corners: bool) -> Any:
    """x [N, C, *sizes] at the places of grid [N, *shape, D], whose last dim has the last size's place first.

    A NaN among the places gives NaN where zeros are beyond the ends, and else stands for the first place.
    """
    if mode not in (_BILINEAR, _NEAREST):
        return _bicubic(x, grid, mode, padding, align_corners) if x.dim() == 4 else NotImplemented
    sizes = x.shape[:1:-1]
    places = [_place(grid[..., n], int(size), padding, align_corners)[:, None] for n, size in enumerate(sizes)]
    if mode == _NEAREST:
        return _seen(x, [place.round() for place in places])
    lower = [place.floor() for place in places]
    result: Tensor | None = None
    for corner in itertools.product((0, 1), repeat=len(sizes)):
        weight = torch.ones_like(places[0])
        for place, low, side in zip(places, lower, corner, strict=True):
            weight = weight * (place - low if side else low + 1 - place)
        part = weight * _seen(x, [low + side for low, side in zip(lower, corner, strict=True)])
        result = part if result is None else result + part
    return result


def _place(at: Tensor, size: int, padding: int, align_corners: bool) -> Tensor:
    """Where between 0 and size - 1 a place from -1 to 1 lies; what is beyond an end may be moved back."""
    place = (at + 1) / 2 * (size - 1) if align_corners else ((at + 1) * size - 1) / 2
    if padding == _REFLECTION:
        low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
        place = _reflected(place - low, span) + low if span else torch.zeros_like(place)
    return place if padding == _ZEROS else torch.where(place > 0, place, 0).clamp(max=size - 1)


def _reflected(distance: Tensor, span: float) -> Tensor:
    """A distance from the first of two mirrors that are `span` apart, between them."""
    distance = distance.abs()
    rest = torch.fmod(distance, span)
    return torch.where(torch.floor(distance / span) % 2 == 0, rest, span - rest)


def _seen(x: Tensor, at: list[Tensor]) -> Tensor:
    """x [N, C, *sizes] at whole places [N, 1, *shape], the last size's first, and 0 beyond its ends: [N, C, *shape]."""
    inside = torch.ones_like(at[0], dtype=torch.bool)
    for place, size in zip(at, x.shape[:1:-1], strict=True):
        inside = inside & (place >= 0) & (place < size)
    batch, channel = (
        torch.arange(x.shape[d], device=x.device).reshape([-1 if n == d else 1 for n in range(x.dim())]) for d in (0, 1)
    )
    places = batch, channel, *(torch.where(inside, place, 0).to(torch.int64) for place in reversed(at))
    return torch.where(inside, x[places], 0)


def _matrix_exponential(x: Tensor) -> Tensor:
    """Of matrices x [*, N, N], by scaling and squaring: a Taylor polynomial, in f64, of the matrix halved until its
    1-norm is at most 1 (Higham, Functions of Matrices, 10.3), which ends at norms of 2**18."""
    if x.is_complex():
        return NotImplemented
    a = x.to(torch.float64)
    halvings = torch.linalg.matrix_norm(a, 1).log2().ceil().clamp(0, _HALVINGS)[..., None, None]
    powers = [torch.eye(x.shape[-1], dtype=a.dtype, device=x.device), a * torch.exp2(-halvings)]
    while len(powers) <= _BLOCK:
        powers.append(powers[-1] @ powers[1])
    found = torch.zeros_like(a)
    for start in reversed(range(0, _DEGREE + 1, _BLOCK)):  # Paterson and Stockmeyer
        part = sum((powers[n] / math.factorial(start + n) for n in range(1, _BLOCK)), powers[0] / math.factorial(start))
        found = part if start + _BLOCK > _DEGREE else found @ powers[_BLOCK] + part
    for n in range(_HALVINGS):
        found = torch.where(n < halvings, found @ found, found)
    return found.to(x.dtype)


def _pseudo_inverse(
    x: Tensor, *, atol: Tensor | None = None, rtol: Tensor | None = None, hermitian: bool = False
) -> Tensor:
    """Of matrices x [*, M, N], in f64: singular values up to atol or rtol times the largest count as zero."""
    if x.is_complex() or 0 in x.shape:
        return NotImplemented
    a = x.to(torch.float64)
    if hermitian:
        values, left = torch.linalg.eigh(a)
        right = left.mT
    else:
        left, values, right = torch.linalg.svd(a, full_matrices=False)
    least = max(x.shape[-2:]) * torch.finfo(x.dtype).eps
    absolute = torch.zeros((), dtype=a.dtype, device=a.device) if atol is None else atol.to(a.dtype)
    relative = torch.where(absolute > 0, 0.0, least) if rtol is None else rtol.to(a.dtype)
    size = values.abs()
    bound = torch.maximum(absolute[..., None], relative[..., None] * size.amax(-1, keepdim=True))
    kept = size > bound
    inverse = torch.where(kept, 1.0 / torch.where(kept, values, 1.0), 0.0)
    return (right.mT @ (inverse[..., None] * left.mT)).to(x.dtype)


def _quantised(x: Tensor, scale: Any, zero_point: Any, low: int, high: int) -> tuple[Tensor, Tensor]:
    """x as whole numbers of steps between `low` and `high` would have it, and where it lies between."""
    steps = (x * (1.0 / scale)).round() + zero_point
    found = (steps.clamp(low, high) - zero_point) * scale
    return found.to(x.dtype), (steps >= low) & (steps <= high)


def _quantised_if_on(
    x: Tensor, scale: Tensor, zero_point: Tensor, enabled: Tensor, low: int, high: int
) -> tuple[Tensor, Tensor]:
    found, mask = _quantised(x, scale, zero_point, low, high)
    on = enabled.reshape(()) != 0
    return torch.where(on, found, x), mask | ~on


def _quantised_by_channel(
    x: Tensor, scale: Tensor, zero_point: Tensor, axis: int, low: int, high: int
) -> tuple[Tensor, Tensor]:
    shape = [-1 if d == axis % x.dim() else 1 for d in range(x.dim())]
    return _quantised(x, scale.reshape(shape), zero_point.reshape(shape), low, high)
