"""Histograms as places among edges and sums at these. Worker side only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import torch
from torch import Tensor


def decompositions() -> dict[Any, Callable[..., Any]]:
    """The formulas, for a table of decompositions."""
    aten = torch.ops.aten
    return {aten.histogram.bin_ct: _of_equal_bins, aten.histogram.bins_tensor: _of_bins}


def _of_equal_bins(
    x: Tensor, bins: int = 100, *, range: list[float] | None = None, weight: Tensor | None = None, density: bool = False
) -> tuple[Tensor, Tensor]:
    """With bins from the least number of x to the largest where no range is given."""
    number = {torch.float32: numpy.float32}.get(x.dtype, numpy.float64)
    first: Any
    last: Any
    step: Any
    if range:
        low, high = (number(end - 0.5 + at if range[0] == range[1] else end) for at, end in enumerate(range))
        first, last, step = float(low), float(high), float((high - low) / number(bins))
    else:
        least, most = x.amin(), x.amax()
        first, last = torch.where(least == most, least - 0.5, least), torch.where(least == most, most + 0.5, most)
        step = ((last - first) / bins).double()
    place = torch.arange(bins + 1, dtype=torch.float64, device=x.device)
    # As PyTorch's own edges, which round each sum once, after its product.
    edges = torch.where(place < (bins + 1) // 2, first + place * step, last - (bins - place) * step).to(x.dtype)
    return _of_bins(x, edges, weight=weight, density=density)


def _of_bins(x: Tensor, bins: Tensor, *, weight: Tensor | None = None, density: bool = False) -> tuple[Tensor, Tensor]:
    """How many numbers of x, or how much of their weight, lie in each of the bins between edges: [N] of edges [N + 1].

    Of its edges a bin has the first, the last bin both.
    """
    flat, last = x.reshape(-1), bins.shape[0] - 2
    place = (torch.searchsorted(bins, flat, right=True) - 1).clamp(0, last)
    share = torch.ones_like(flat) if weight is None else weight.reshape(-1)
    share = torch.where((flat >= bins[0]) & (flat <= bins[-1]), share, 0.0)
    found = torch.zeros_like(bins[:-1]).index_add(0, place, share)
    return found / found.sum() / bins.diff() if density else found, bins.clone()
