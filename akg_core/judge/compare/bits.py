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
    """Arguments and state under the names that `changed` reports: "argument 1[0]" is an element of a list."""
    arguments: dict[str, Any] = {}
    for index, value in enumerate(inputs):
        arguments |= flatten(value, f"argument {index}")
    return arguments | {f"state {name}": value for name, value in state.items()}


def flatten(tree: Any, path: str = "output") -> dict[str, Any]:
    """The leaves of a tree by path: "output", "output[0]" of a list, "output(0)" of a tuple, "output.key" of a dict.

    A collection that holds nothing is a leaf, and a key that could be taken for more is quoted.
    """
    match tree:
        case [] | ():
            return {path: tree}
        case dict() if not tree:
            return {path: tree}
        case list():
            parts = [flatten(item, f"{path}[{index}]") for index, item in enumerate(tree)]
        case tuple():
            parts = [flatten(item, f"{path}({index})") for index, item in enumerate(tree)]
        case dict():
            parts = [flatten(item, f"{path}.{_key(key)}") for key, item in tree.items()]
        case _:
            return {path: tree}
    return {name: leaf for part in parts for name, leaf in part.items()}


def _key(key: Any) -> str:
    text = str(key)
    return text if text.isprintable() and not any(sign in text for sign in "[](.") else repr(text)


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
