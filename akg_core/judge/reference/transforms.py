"""Fourier transforms that round as sums of all that they transform, and not as the results do. Worker side.

Each result of a transform of n numbers x is off by about 0.6 e sqrt(log2 n) |x|, e being the unit roundoff, however
small it is itself (Schatzman, "Accuracy of the discrete Fourier transform and the fast Fourier transform", 1996).
Of an infinity or a NaN among them, each may be NaN: zero times it, by roots of unity that are 0 in one algorithm alone.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

_aten = torch.ops.aten


@functools.cache
def decompositions() -> dict[Any, Callable[..., Tensor]]:
    """Transforms of one dim after the other, each result a sum with a number as large as its error asks for."""
    return {
        _aten._fft_r2c.default: _real_to_complex,
        _aten._fft_c2c.default: _complex_to_complex,
        _aten._fft_c2r.default: _complex_to_real,
    }


def _real_to_complex(x: Tensor, dims: Sequence[int], norm: int, onesided: bool) -> Tensor:
    *others, last = dims
    first = _rounded(_aten._fft_r2c(x, [last], norm, onesided), x, last, norm)
    return _complex_to_complex(first, others, norm, True)


def _complex_to_complex(z: Tensor, dims: Sequence[int], norm: int, forward: bool) -> Tensor:
    for dim in dims:
        z = _rounded(_aten._fft_c2c(z, [dim], norm, forward), z, dim, norm)
    return z


def _complex_to_real(z: Tensor, dims: Sequence[int], norm: int, size: int) -> Tensor:
    *others, last = dims
    z = _complex_to_complex(z, others, norm, False)
    return _rounded(_aten._fft_c2r(z, [last], norm, size), z, last, norm)


def _rounded(result: Tensor, of: Tensor, dim: int, norm: int) -> Tensor:
    """`result`, with the rounding of a sum with a number of the size of its error over the unit roundoff."""
    size = max(result.shape[dim], of.shape[dim])
    spread = torch.linalg.vector_norm(of, dim=dim, keepdim=True) * (math.sqrt(math.log2(size)) * size ** (-norm / 2))
    if not result.is_complex():
        return (result + spread) - spread
    parts, spread = torch.view_as_real(result), spread.unsqueeze(-1)
    return torch.view_as_complex((parts + spread) - spread)
