"""References with an operator that PyTorch has not for floats of 16 bits on this device: it is computed in float32.

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
_LACKS = re.compile(r"not implemented for '(Half|BFloat16)'|(Half|BFloat16)Tensor is not supported")


def is_lacking(error: Exception) -> bool:
    """Whether an error says that an operator is missing for floats of 16 bits."""
    return isinstance(error, RuntimeError) and bool(_LACKS.search(str(error)))


def widened(model: nn.Module) -> nn.Module:
    """The module, whose operators compute in float32 what they lack in 16 bits, and round once."""
    kind = type(model)

    def forward(self: nn.Module, *arguments: Any) -> Any:
        with _Widening():
            return kind.forward(self, *arguments)

    model.__class__ = type(kind.__name__, (kind,), {"forward": forward, "__module__": kind.__module__})
    return model


class _Widening(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        try:
            return func(*args, **kwargs)
        except RuntimeError as error:
            if not is_lacking(error) or func._schema.is_mutable:  # what it writes to would stay as it was
                raise
        given = [each.dtype for each in tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor)]
        narrow = next(dtype for dtype in given if dtype in _NARROW)
        found = func(*transform(args, _wide), **transform(kwargs, _wide))
        return transform(found, lambda t: t.to(narrow) if t.dtype == torch.float32 else t)


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.dtype in _NARROW else tensor
