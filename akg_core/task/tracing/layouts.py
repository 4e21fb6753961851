"""Functions whose results PyTorch's trace lays out as their arguments, where eager PyTorch does not. Worker side."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._prims_common import suggest_memory_format


def _in_order(function: Callable[..., Any], channels_last: bool = False) -> Callable[..., Any]:
    """The function of its first argument in row-major order; `channels_last`: or with channels last, as it may be."""

    @functools.wraps(function)
    def called(input: Tensor, *args: Any, **options: Any) -> Any:
        order = suggest_memory_format(input) if channels_last else torch.contiguous_format
        return function(input.contiguous(memory_format=order), *args, **options)

    return called


FUNCTIONS = (
    (torch, "batch_norm", _in_order(torch.batch_norm, channels_last=True)),
    (torch, "max_pool1d", _in_order(torch.max_pool1d)),
    (torch.nn.functional, "one_hot", _in_order(torch.nn.functional.one_hot)),
)
"""What is replaced, by who has it, under which name."""
