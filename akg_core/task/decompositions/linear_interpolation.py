"""Linear interpolation along one, two or three dims as gathers: of each dim the two pixels around a place.

Where a place lies is computed as PyTorch does, scale * (i + 1/2) - 1/2, but in f64 unless f32 holds it without
rounding: far from the origin f32 is off by more than all that follows. Both pixels have a weight, as in PyTorch, for
their difference is rounded by more than their sum where they differ in sign. Worker side only.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._decomp.decompositions import _upsample_linear_vec, upsample_compute_output_size
from torch._prims_common import suggest_memory_format

_FRACTION = 256  # multiples of 1 / 256 are exact in f32 up to 2^16 pixels


def decompositions() -> dict[Any, Callable[..., Any]]:
    """The formula of PyTorch's linear interpolations, for a table of decompositions."""
    aten = torch.ops.aten
    operators = (aten.upsample_linear1d.vec, aten.upsample_bilinear2d.vec, aten.upsample_trilinear3d.vec)
    return dict.fromkeys(operators, _vec)


def _vec(
    x: Tensor, output_size: Sequence[int] | None, align_corners: bool, scale_factors: Sequence[float] | None
) -> Any:
    if not x.is_floating_point():  # PyTorch rounds the weights of whole numbers
        return _upsample_linear_vec(x, output_size, align_corners, scale_factors)
    sizes = upsample_compute_output_size(x.size(), output_size, scale_factors)
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    sides, weights = [], []
    for n, (inputs, outputs) in enumerate(zip(x.shape[2:], sizes, strict=True)):
        scale = scale_factors[n] if scale_factors else None
        at = _places(inputs, outputs, align_corners, scale, wide, x.device).reshape(-1, *[1] * (len(sizes) - 1 - n))
        low = at.to(torch.int64)
        sides.append((low, (low + 1).clamp(max=inputs - 1)))
        far = (at - low).clamp(0.0, 1.0)
        weights.append(((1 - far).to(wide), far.to(wide)))
    corners = [torch.ops.aten._unsafe_index(x, [None, None, *at]).to(wide) for at in itertools.product(*sides)]
    for near, far in reversed(weights):
        pairs = zip(corners[::2], corners[1::2], strict=True)
        corners = [first * near + second * far for first, second in pairs]
    return corners[0].to(x.dtype).contiguous(memory_format=suggest_memory_format(x))


def _places(
    inputs: int, outputs: int, align_corners: bool, scale: float | None, wide: torch.dtype, device: torch.device
) -> Tensor:
    """Where along a dim of the input each place of the output lies, [outputs]."""
    over, by = (inputs - 1, outputs - 1) if align_corners else (inputs, outputs)
    step = (1 / scale if scale and not align_corners else over / by) if not align_corners or outputs > 1 else 0.0
    exact = isinstance(step, float) and (step * _FRACTION).is_integer()
    places = torch.arange(outputs, device=device).to(wide if exact else torch.float64)
    places = places if align_corners else places + 0.5
    # A quotient of sizes that vary would be one in f32.
    stretched = places * step if isinstance(step, float) else places * over / by
    return (stretched if align_corners else stretched - 0.5).clamp(min=0.0)
