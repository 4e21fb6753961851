"""Whether trees of tensors hold the same bytes, and which of their tensors do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

_WORDS = {1: torch.uint8, 2: torch.int16}  # by bytes of an element: what is hashed at once
_HASHED = 1 << 24  # elements


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


def fingerprint(tree: Any, seed: int) -> list[Any]:
    """What tells a tree's bytes from those of others, kept in place of them where they are many.

    Of a tensor it is a multilinear hash of 64 bits, with weights that `seed` gives: who does not know it finds no other
    bytes of the same hash, but by chance in 2 ** 33 tries.
    """
    found = list[Any]()
    for name, leaf in flatten(tree).items():
        if isinstance(leaf, torch.Tensor):
            found.append((name, str(leaf.dtype), tuple(leaf.shape), leaf.stride(), _hash(leaf, seed)))
        else:
            found.append((name, repr(leaf)))
    return found


def _hash(tensor: torch.Tensor, seed: int) -> int:
    bits = tensor.contiguous().reshape(-1).view(_WORDS.get(tensor.element_size(), torch.int32))
    weights = torch.Generator(tensor.device).manual_seed(seed)
    total, least, most = 0, torch.iinfo(torch.int64).min, torch.iinfo(torch.int64).max
    for piece in bits.split(_HASHED):
        drawn = torch.randint(least, most, piece.shape, dtype=torch.int64, device=piece.device, generator=weights)
        total += int(drawn.mul_(piece).sum())
    return total % (1 << 64)


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
