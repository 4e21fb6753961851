"""What is made of all rows that a mask picks: sums, extremes, and what goes along them. Worker side only."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from akg_core.task.data_dependent.domain import Rows


def _wide(x: Rows) -> Tensor:
    return x.domain.kept.reshape(-1, *(1,) * (x.rows.dim() - 1))


def _filled(x: Rows, value: float) -> Tensor:
    """All rows, with a value in place of those that do not count."""
    return torch.where(_wide(x), x.rows, value)


def _sum(x: Rows, dim: int | None) -> Tensor:
    return _summed(_filled(x, 0), dim)


def _summed(rows: Tensor, dim: int | None) -> Tensor:
    return rows.sum() if dim is None else rows.sum(dim)


def _count(x: Rows, dim: int | None) -> Tensor:
    return x.domain.count * (math.prod(x.rows.shape[1:]) if dim is None else 1)


def _widened(over: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A reduction done in f32 for narrow floats, as PyTorch does it."""

    def widened(x: Rows, dim: int | None, *options: Any) -> Tensor:
        narrow = x.rows.dtype in (torch.float16, torch.bfloat16)
        return over(x.made(x.rows.float()), dim, *options).to(x.rows.dtype) if narrow else over(x, dim, *options)

    return widened


def _mean(x: Rows, dim: int | None) -> Tensor:
    return _sum(x, dim) / _count(x, dim)


def _variance(x: Rows, dim: int | None, correction: int = 1) -> Tensor:
    apart = torch.where(_wide(x), x.rows - _mean(x, dim), 0)
    return _summed(apart * apart, dim) / (_count(x, dim) - correction)


def _least(x: Rows, largest: bool) -> Tensor:
    """All rows, with what is below or above every number in place of those that do not count."""
    if x.rows.is_floating_point():
        return _filled(x, -math.inf if largest else math.inf)
    limits = torch.iinfo(x.rows.dtype)
    return _filled(x, limits.min if largest else limits.max)


def _extreme(largest: bool) -> Callable[[Rows, int | None], Tensor]:
    def extreme(x: Rows, dim: int | None) -> Tensor:
        rows = _least(x, largest)
        dims = tuple(range(rows.dim())) if dim is None else (dim,)
        return rows.amax(dims) if largest else rows.amin(dims)

    return extreme


def pair(func: Callable[..., Any], name: str, x: Rows) -> Any:
    """Extremes over the rows, and where they are among those that count."""
    found, at = func(_least(x, name == "max"), 0)
    return getattr(torch.return_types, name)((found, x.domain.rank[at]))


def _any(x: Rows, dim: int | None) -> Tensor:
    rows = _wide(x) & x.rows.bool()
    return rows.any() if dim is None else rows.any(dim)


def _all(x: Rows, dim: int | None) -> Tensor:
    rows = ~_wide(x) | x.rows.bool()
    return rows.all() if dim is None else rows.all(dim)


def batch_norm(
    x: Rows,
    mean: Tensor | None,
    var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """As `torch.nn.functional.batch_norm`, of rows [m, C]: what is known of them is of those that count alone."""
    if training or mean is None or var is None:
        here = _mean(x, 0)
        apart = torch.where(_wide(x), x.rows - here, 0)
        spread = (apart * apart).sum(0) / x.domain.count
        if mean is not None and var is not None:
            mean.lerp_(here, momentum)
            var.lerp_(spread * x.domain.count / (x.domain.count - 1), momentum)
    else:
        here, spread = mean, var
    rows = (x.rows - here) * torch.rsqrt(spread + eps)
    rows = rows if weight is None else rows * weight
    return x.made(rows if bias is None else rows + bias)


PAIRS = ("max", "min")  # of which a dim gives places, too
OVER: dict[str, Callable[..., Tensor]] = {
    "sum": _sum,
    "prod": lambda x, dim: _filled(x, 1).prod() if dim is None else _filled(x, 1).prod(dim),
    "count_nonzero": lambda x, dim: _sum(x.made((x.rows != 0).long()), dim),
    "mean": _widened(_mean),
    "var": _widened(_variance),
    "std": _widened(lambda x, dim, *correction: _variance(x, dim, *correction).sqrt()),
    "norm": _widened(lambda x, dim: _sum(x.made(x.rows * x.rows), dim).sqrt()),
    "max": _extreme(True),
    "amax": _extreme(True),
    "min": _extreme(False),
    "amin": _extreme(False),
    "any": _any,
    "all": _all,
}
ALONG: dict[str, Callable[..., Any]] = {
    "softmax": lambda func, x, dim: x.made(func(_filled(x, -math.inf), dim)),
    "log_softmax": lambda func, x, dim: x.made(func(_filled(x, -math.inf), dim)),
    "logsumexp": lambda func, x, dim: func(_filled(x, -math.inf), dim),
    "cumsum": lambda func, x, dim: x.made(func(_filled(x, 0), dim)),
    "cumprod": lambda func, x, dim: x.made(func(_filled(x, 1), dim)),
    "argmax": lambda func, x, dim: x.domain.rank[func(_least(x, True), dim)],
    "argmin": lambda func, x, dim: x.domain.rank[func(_least(x, False), dim)],
}
"""Along the rows: what gives rows again, or one number of them."""
