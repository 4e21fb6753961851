"""Whole numbers that rounding decides, where a candidate's may be others than the reference's.

Worker side, in the reference process. A run of the reference with rounding noise gives other numbers there. Of a sum
(`summed`), as a count of what exceeds a threshold is, a number is right that lies at most four times as far as they do;
elsewhere (an index, a rank, a quotient rounded to a whole number) it must be one of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from akg_core.judge.compare.accuracy import LUCK, NOISE_RUNS

_MOST, _FEW = 0.25, 4  # of an output, those that rounding may decide, and so many in any case

Found = Callable[[int, "torch.Tensor | None"], "torch.Tensor | None"]
"""From how many runs, and which rows of the first dimension (None: all), to places and what noise gives there."""


def undecided(mine: torch.Tensor, exact: torch.Tensor, wrong: torch.Tensor, found: Found, summed: bool) -> torch.Tensor:
    """What is left of the `wrong` places (bool, of the shape of `mine`) without those that rounding decides."""
    places = wrong.reshape(-1).nonzero().flatten()
    values, due = (_numbers(tensor).reshape(-1) for tensor in (mine, exact))
    width = max(1, math.prod(mine.shape[1:]))
    for runs in NOISE_RUNS:
        if not 0 < len(places) <= max(_MOST * mine.numel(), _FEW):
            break
        noisy = found(runs, (places // width).unique() if mine.dim() else None)
        if noisy is None:
            break
        if summed:
            reach = torch.zeros_like(due, dtype=torch.double)
            reach.scatter_reduce_(0, noisy[0], (noisy[1] - due[noisy[0]]).abs().double(), "amax")
            places = places[(values[places] - due[places]).abs() > LUCK * reach[places]]
        else:
            numbers, which = torch.cat((values[places], noisy[1])).unique(return_inverse=True)
            keys = torch.cat((places, noisy[0])) * len(numbers) + which
            places = places[~torch.isin(keys[: len(places)], keys[len(places) :])]
    left = torch.zeros_like(wrong).reshape(-1)
    left[places] = True
    return left.reshape(wrong.shape)


def _numbers(tensor: torch.Tensor) -> torch.Tensor:
    return (tensor.view(torch.uint8) if tensor.dtype == torch.bool else tensor).long()
