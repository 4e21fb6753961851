"""What products of many numbers may be where the order in which they are multiplied is open.

Worker side. Zero times what has grown infinite is no number; in another order the zero comes first, or nothing grows so
far. Which of these a kernel gives is nobody's fault.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def products(func: Any) -> Callable[..., torch.Tensor] | None:
    """What gives the result of an operator that multiplies in another order, by that result and its arguments, and
    with `latest` whether infinities come as late as they can or as soon; None for another operator. `most`: the
    largest exponent of the dtype that it multiplies in."""
    return _PRODUCTS.get(func)


def _cumulative(result: torch.Tensor, x: torch.Tensor, dim: int, *, latest: bool, most: int) -> torch.Tensor:
    is_zero = x == 0
    exponents = x.abs().log2().masked_fill_(is_zero, 0.0).cumsum(dim)
    has_zero = is_zero.cumsum(dim) > 0
    if not latest:
        least = exponents.cummin(dim).values.clamp_(max=0.0)  # of what may be left out at the front
        grows = (exponents - least).cummax(dim).values > most
        return torch.where(grows & result.isfinite(), torch.where(has_zero, torch.nan, torch.inf), result)
    sign = 1.0 - 2.0 * ((x < 0).cumsum(dim) % 2)
    kept = torch.where(has_zero, 0.0, sign * exponents.exp2())
    return torch.where(exponents.isfinite() & ~result.isfinite(), kept, result)


def _along(
    result: torch.Tensor, x: torch.Tensor, dim: int, keepdim: bool = False, *, latest: bool, most: int
) -> torch.Tensor:
    if not x.dim() or not x.shape[dim]:
        return result
    whole = result if keepdim else result.unsqueeze(dim)
    found = _cumulative(whole.expand_as(x), x, dim, latest=latest, most=most).narrow(dim, -1, 1)
    return found if keepdim else found.squeeze(dim)


def _whole(result: torch.Tensor, x: torch.Tensor, *, latest: bool, most: int) -> torch.Tensor:
    return _along(result, x.reshape(-1), 0, latest=latest, most=most) if x.numel() else result


_PRODUCTS: dict[Any, Callable[..., torch.Tensor]] = {
    torch.ops.aten.cumprod.default: _cumulative,
    torch.ops.aten.prod.dim_int: _along,
    torch.ops.aten.prod.default: _whole,
}
