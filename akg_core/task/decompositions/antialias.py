"""Antialiased interpolation as gathers and sums: of each line the few pixels that a stretched filter covers.

The filters are Pillow's, as PyTorch has them: a triangle, and a cubic with a = -1/2. Worker side only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

_SHARPNESS = -0.5  # of the cubic filter, a in Keys (1981)

Apply = Callable[[Tensor, int, Tensor, Tensor, Tensor], Tensor]
"""What makes means along a dim of a tensor: of the pixels at places [outputs, taps], by weights, where `covered`."""


def gathered(x: Tensor, dim: int, places: Tensor, weights: Tensor, covered: Tensor) -> Tensor:
    """All that is seen at once."""
    seen = x.movedim(dim, -1)[..., places]
    return torch.where(covered, seen * weights, 0.0).sum(-1).movedim(-1, dim)


def tap_by_tap(x: Tensor, dim: int, places: Tensor, weights: Tensor, covered: Tensor) -> Tensor:
    """One pixel of each place after the other, so that nothing larger than the result is held."""
    lines = x.movedim(dim, -1)
    total = lines.new_zeros((*lines.shape[:-1], len(places)))
    for place, weight, inside in zip(places.T, weights.T, covered.T, strict=True):
        total = total + torch.where(inside, lines[..., place] * weight, 0.0)
    return total.movedim(-1, dim)


def decompositions(apply: Apply = gathered) -> dict[Any, Callable[..., Any]]:
    """The formulas of PyTorch's antialiased operators, for a table of decompositions."""
    aten = torch.ops.aten
    return {
        aten._upsample_bilinear2d_aa.default: _resize(lambda distance: (1 - distance).clamp(min=0), 1, apply),
        aten._upsample_bicubic2d_aa.default: _resize(_cubic, 2, apply),
    }


def _resize(weigh: Callable[[Tensor], Tensor], reach: int, apply: Apply) -> Callable[..., Any]:
    """Interpolation of the last two dims by a filter of `reach` pixels on either side, first along lines."""

    def resize(
        x: Tensor,
        output_size: Sequence[int],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Any:
        if not x.is_floating_point():  # PyTorch rounds the weights of whole numbers
            return NotImplemented
        wide = x.to(torch.float64 if x.dtype == torch.float64 else torch.float32)
        for dim, size, scale in ((-1, output_size[1], scales_w), (-2, output_size[0], scales_h)):
            step = _step(int(x.shape[dim]), int(size), align_corners, scale)
            wide = apply(wide, dim, *_filter(wide, dim, int(size), step, weigh, reach))
        return wide.to(x.dtype)

    return resize


def _step(inputs: int, outputs: int, align_corners: bool, scale: float | None) -> float:
    """How many pixels of the input one of the output goes on by."""
    if align_corners:
        return (inputs - 1) / (outputs - 1) if outputs > 1 else 0.0
    return 1 / scale if scale else inputs / outputs


def _filter(
    x: Tensor, dim: int, outputs: int, step: float, weigh: Callable[[Tensor], Tensor], reach: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The pixels around each of `outputs` places along `dim`, their weights, and which of them the filter covers."""
    stretch = max(step, 1.0)
    taps = 2 * math.ceil(reach * stretch) + 1
    centre = (torch.arange(outputs, dtype=x.dtype, device=x.device) + 0.5) * step
    first, end = ((centre + side * reach * stretch + 0.5).floor().to(torch.int64) for side in (-1, 1))
    places = first[:, None] + torch.arange(taps, device=x.device)
    covered = (places >= 0) & (places < end[:, None]) & (places < x.shape[dim])
    weights = torch.where(covered, weigh((places - centre[:, None] + 0.5).abs() / stretch), 0.0)
    return places.clamp(0, x.shape[dim] - 1), weights / weights.sum(1, keepdim=True), covered


def _cubic(distance: Tensor) -> Tensor:
    a, d = _SHARPNESS, distance
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = (((d - 5) * d + 8) * d - 4) * a
    return torch.where(d < 1, near, torch.where(d < 2, far, 0.0))
