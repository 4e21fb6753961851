"""References with an operator that PyTorch has not for a dtype on this device.

It is computed in float32 where it lacks floats of 16 bits, and on the host where a device lacks one of whole numbers.
Worker side.
"""

from __future__ import annotations

import re
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from akg_core.worker.tensors import transform

_NARROW = (torch.float16, torch.bfloat16)
_LACKS_NARROW = re.compile(r"not implemented for '(Half|BFloat16)'|(Half|BFloat16)Tensor is not supported")
_LACKS_WHOLE = re.compile(r"not implemented for '(Bool|Byte|Char|Short|Int|Long)'")


def is_lacking(error: Exception) -> bool:
    """Whether an error says that an operator is missing for floats of 16 bits, or for whole numbers."""
    return _is_narrow(error) or _is_whole(error)


def instead(error: Exception) -> str:
    """How an operator that is missing is computed."""
    return "on the host" if _is_whole(error) else "in float32 and rounded"


def _is_narrow(error: Exception) -> bool:
    return isinstance(error, RuntimeError) and bool(_LACKS_NARROW.search(str(error)))


def _is_whole(error: Exception) -> bool:
    return isinstance(error, RuntimeError) and bool(_LACKS_WHOLE.search(str(error)))


def with_fallbacks(model: nn.Module) -> nn.Module:
    """The module, whose operators compute in float32 what they lack in 16 bits, and round once; and on the host what
    a device lacks for whole numbers."""
    kind = type(model)

    def forward(self: nn.Module, *arguments: Any) -> Any:
        with _Fallbacks():
            return kind.forward(self, *arguments)

    model.__class__ = type(kind.__name__, (kind,), {"forward": forward, "__module__": kind.__module__})
    return model


class _Fallbacks(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        try:
            return func(*args, **kwargs)
        except RuntimeError as error:
            if not is_lacking(error) or func._schema.is_mutable:  # what it writes to would stay as it was
                raise
            given = [each for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
            is_whole = _is_whole(error)
            if is_whole and all(each.is_cpu for each in given):
                raise
        if is_whole:
            device = given[0].device
            found = func(*transform(args, torch.Tensor.cpu), **transform(kwargs, torch.Tensor.cpu))
            return transform(found, lambda t: t.to(device))
        narrow = next(each.dtype for each in given if each.dtype in _NARROW)
        found = func(*transform(args, _wide), **transform(kwargs, _wide))
        return transform(found, lambda t: t.to(narrow) if t.dtype == torch.float32 else t)


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.dtype in _NARROW else tensor
