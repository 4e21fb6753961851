"""Quantiles as sorted rows and what lies between two of their numbers: PyTorch's own check sizes and `q` by values, so
that not every version of it can be traced.

Worker side only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_ROUNDED: dict[str, Callable[[Tensor], Tensor]] = {"lower": torch.floor, "higher": torch.ceil, "nearest": torch.round}


def _instead_of(plain: Callable[..., Tensor], skips_nan: bool) -> Callable[..., Tensor]:
    """A function like `plain`, which is `torch.quantile` or, if it `skips_nan`, `torch.nanquantile`."""

    def quantile(
        input: Tensor,
        q: float | Tensor,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        interpolation: str = "linear",
        **out: Any,
    ) -> Tensor:
        if not isinstance(input, Tensor) or out or interpolation not in (*_ROUNDED, "linear", "midpoint"):
            return plain(input, q, dim, keepdim, interpolation=interpolation, **out)
        along = dim if input.dim() else None
        rows = (input.reshape(-1) if along is None else input.movedim(along, -1)).sort(-1).values
        at = q if isinstance(q, Tensor) else torch.scalar_tensor(q, dtype=input.dtype, device=input.device)
        found = _between(rows, _ranks(rows, at.reshape(-1), skips_nan), interpolation)  # [*rest, numbers of q]
        if keepdim and along is None:
            found = found.reshape(*[1] * input.dim(), -1)
        elif keepdim and along is not None:
            found = found.unsqueeze(along if along >= 0 else along - 1)
        return found.movedim(-1, 0) if at.dim() else found.squeeze(-1)

    return quantile


def _ranks(rows: Tensor, q: Tensor, skips_nan: bool) -> Tensor:
    """Where in sorted rows, NaN last, each q lies; of rows with a NaN that is not skipped, there."""
    nan, last = rows.isnan(), rows.shape[-1] - 1
    if skips_nan:
        return (q * ((~nan).sum(-1, keepdim=True) - 1)).clamp(min=0)
    return torch.where(nan.any(-1, keepdim=True), last, q * last)


def _between(rows: Tensor, ranks: Tensor, interpolation: str) -> Tensor:
    if interpolation in _ROUNDED:
        return rows.gather(-1, _ROUNDED[interpolation](ranks).long())
    below = ranks.long()
    share = torch.full_like(ranks, 0.5) if interpolation == "midpoint" else ranks - below
    return torch.lerp(rows.gather(-1, below), rows.gather(-1, ranks.ceil().long()), share)


FUNCTIONS = tuple(
    (owner, name, _instead_of(getattr(owner, name), name.startswith("nan")))
    for name in ("quantile", "nanquantile")
    for owner in (torch, torch.Tensor)
)
"""Whose, which, and what stands in for it."""
