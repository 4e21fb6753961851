"""Operators on lists of tensors (`torch._foreach_add`) as the operator that each stands for, on one tensor after the
other. Worker side only.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_PREFIX = "aten::_foreach_"
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "addcdiv": lambda x, one, two, value=1: x + value * one / two,
    "addcmul": lambda x, one, two, value=1: x + value * one * two,
    "copy": lambda x, source, non_blocking=False: source.to(x.dtype).expand(x.shape).clone(),
    "maximum": torch.clamp_min,
    "minimum": torch.clamp_max,
    "norm": lambda x, ord=2, dtype=None: torch.linalg.vector_norm(x, ord, dtype=dtype),
    "zero": torch.zeros_like,
}
"""Where `torch` has no function of the name that takes one item of each list, whether tensor or number."""


def decompositions() -> dict[Any, Callable[..., Any]]:
    """A formula for each of these operators that gives new tensors, for a table of decompositions."""
    found: dict[Any, Callable[..., Any]] = {}
    for operator in torch._C._dispatch_get_all_op_names():
        name, _, overload = operator.removeprefix(_PREFIX).partition(".")
        one = _FUNCTIONS.get(name) or getattr(torch, name, None)
        if operator.startswith(_PREFIX) and one and not name.endswith("_") and not overload.endswith("out"):
            packet = getattr(torch.ops.aten, f"_foreach_{name}")
            found[getattr(packet, overload or "default")] = functools.partial(_each, one)
    return found


def _each(one: Callable[..., Any], *args: Any, **kwargs: Any) -> list[Tensor]:
    """What `one` gives for the first items of all lists, for the second ones, and so on; other arguments stay."""
    count = next(len(each) for each in args if isinstance(each, (list, tuple)))
    named = {name: value for name, value in kwargs.items() if value is not None}
    return [
        one(*(each[n] if isinstance(each, (list, tuple)) else each for each in args), **named) for n in range(count)
    ]
