"""Windows of signals that forward makes, as functions of places. Worker side only."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def decompositions() -> dict[Any, Callable[..., Any]]:
    """The formulas, for a table of decompositions."""
    aten = torch.ops.aten
    shapes = {
        (aten.hann_window, ("default", "periodic")): _hann,
        (aten.hamming_window, ("default", "periodic", "periodic_alpha", "periodic_alpha_beta")): _hamming,
        (aten.blackman_window, ("default", "periodic")): _blackman,
        (aten.bartlett_window, ("default", "periodic")): _bartlett,
        (aten.kaiser_window, ("default", "periodic", "beta")): _kaiser,
    }
    return {
        getattr(window, overload): _window(shape)
        for (window, overloads), shape in shapes.items()
        for overload in overloads
    }


def _window(shape: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Of the shape of windows, as a function of places from 0 to 1, what makes one [n]."""

    def made(
        n: int,
        periodic: bool = True,
        *numbers: float,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
        **_: Any,
    ) -> Tensor:
        dtype = dtype or torch.get_default_dtype()
        if n <= 1:
            return torch.ones(n, dtype=dtype, device=device)
        last = n if periodic else n - 1
        return shape(torch.arange(n, dtype=dtype, device=device) / last, *numbers)

    return made


def _hann(x: Tensor) -> Tensor:
    return _hamming(x, 0.5, 0.5)


def _hamming(x: Tensor, alpha: float = 0.54, beta: float = 0.46) -> Tensor:
    return alpha - beta * torch.cos(2 * math.pi * x)


def _blackman(x: Tensor) -> Tensor:
    return 0.42 - 0.5 * torch.cos(2 * math.pi * x) + 0.08 * torch.cos(4 * math.pi * x)


def _bartlett(x: Tensor) -> Tensor:
    return 1 - (2 * x - 1).abs()


def _kaiser(x: Tensor, beta: float = 12.0) -> Tensor:
    height = (1 - (2 * x - 1).square()).sqrt()
    return torch.special.i0(beta * height) / torch.special.i0(torch.full_like(x[:1], beta))
