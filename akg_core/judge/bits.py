"""Whether trees of tensors hold the same bytes, and which of their tensors do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, torch.Tensor]:
    """The tensors whose bytes differ from what they were."""
    return {
        name: value
        for name, value in after.items()
        if isinstance(value, torch.Tensor) and not same_bits(before.get(name), value)
    }


def named(inputs: Sequence[Any], state: dict[str, Any]) -> dict[str, Any]:
    """Arguments and state under the names that `changed` reports."""
    arguments = {f"argument {index}": value for index, value in enumerate(inputs)}
    return arguments | {f"state {name}": value for name, value in state.items()}


def same_bits(one: Any, other: Any) -> bool:
    """Whether two trees hold the same bytes; a None on the left stands for anything."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}.get(one.element_size())
        return torch.equal(one.view(bits), other.view(bits)) if bits else torch.equal(one, other)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same_bits, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_bits(one[key], other[key]) for key in one)
    return one is None or one == other
