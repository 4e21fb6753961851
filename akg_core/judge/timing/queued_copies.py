"""Copies of the host's numbers to a device, made so that nobody waits for them.

Worker side, in the process of a baseline. `torch.tensor(0.5, device=x.device)` in a forward copies from ordinary
memory, which waits for all that the device was given before: such a call cannot be queued, and without that its time is
known to a millisecond only. From pinned memory the same copy is queued like any other work, and takes less time, never
more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from akg_core.device import HOST

_MADE = (torch.tensor, torch.as_tensor, torch.asarray)


def with_queued_copies(model: type[torch.nn.Module]) -> type[torch.nn.Module]:
    """The class of a module whose forward waits for no copy from the host."""

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _QueuedCopies():
            return model.forward(self, *args, **kwargs)

    return type(model.__name__, (model,), {"forward": forward, "__module__": model.__module__})


class _QueuedCopies(TorchFunctionMode):
    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in _MADE and not _is_host(kwargs.get("device")):
            device = kwargs.pop("device")
            return _queued(func(*args, **kwargs), device)
        if func is torch.Tensor.to and _is_host(args[0].device) and "copy" not in kwargs:
            device, dtype, _, layout = torch._C._nn._parse_to(*args[1:], **kwargs)
            if layout is None:
                return _queued(args[0], device, dtype)
        return func(*args, **kwargs)


def _queued(tensor: torch.Tensor, device: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
    """A tensor on a device, converted, by a copy that is queued where it comes from the host."""
    if _is_host(tensor.device) and not _is_host(device) and tensor.layout == torch.strided:
        return tensor.pin_memory().to(device, dtype, non_blocking=True)
    return tensor.to(device, dtype)


def _is_host(device: Any) -> bool:
    return device is None or torch.device(device).type == HOST.name
