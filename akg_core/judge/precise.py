"""Running a reference in float64: without rounding noise to speak of, or with just the noise of a narrower type.

The mode rewrites every dtype that the code itself asks for, so that `x.float()` or `zeros(3, dtype=torch.float32)`
inside a forward stays precise. With noise, every operator's result (and every input) is moved by a random relative
amount of at most one unit roundoff: Monte Carlo arithmetic (Parker, 1997). How far the outputs then scatter is what
honest rounding can do to each of them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from akg_core.worker.tensors import transform

_NARROW = (torch.float32, torch.float16, torch.bfloat16)


def doubled(value: Any) -> Any:
    """The same tree with floating tensors in float64."""
    return transform(value, lambda t: t.double() if t.is_floating_point() else t.clone())


def double_model(model: nn.Module) -> nn.Module:
    """A copy of a module with float64 parameters and buffers."""
    return copy.deepcopy(model).double()


@contextmanager
def in_double(roundoff: float = 0.0, seed: int = 0) -> Iterator[None]:
    """Compute in float64 inside; with `roundoff`, every result carries noise of that relative size."""
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad(), _Double(roundoff, seed):
            yield
    finally:
        torch.set_default_dtype(default)


class _Double(TorchDispatchMode):
    def __init__(self, roundoff: float, seed: int) -> None:
        super().__init__()
        self._roundoff = roundoff
        self._draw = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if kwargs.get("dtype") in _NARROW:
            kwargs["dtype"] = torch.float64
        args = tuple(torch.float64 if isinstance(a, torch.dtype) and a in _NARROW else a for a in args)
        result = func(*args, **kwargs)
        if self._roundoff and not func.is_view and not func._schema.is_mutable:
            return transform(result, self._noisy)
        return result

    def _noisy(self, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dtype != torch.float64:
            return tensor
        noise = torch.rand(tensor.shape, dtype=torch.float64, generator=self._draw).mul_(2).sub_(1)
        return noise.mul_(self._roundoff).add_(1).mul_(tensor)
