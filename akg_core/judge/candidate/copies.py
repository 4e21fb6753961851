"""Whether copies that the library made are most of what a kernel has answered.

Copies are allowed, to put operands where a kernel wants them. An answer that they have put together, out of what the
kernel was given, is the library's work: a transpose or a concatenation is a copy, too.
"""

from __future__ import annotations

from typing import Any

import torch

from akg_core.judge.compare.bits import same_bits
from akg_core.worker.tensors import transform

INTO = frozenset({"copy_", "fill_"})
"""Operators that copy from their second argument into the first; to fill with a tensor is to copy it."""


class Copies:
    """The copies of one call: what was copied where."""

    def __init__(self) -> None:
        self._made: list[tuple[torch.Tensor, torch.Tensor]] = []

    def __len__(self) -> int:
        return len(self._made)

    def add(self, name: str, arguments: Any, result: Any) -> None:
        """Take in a copy by an operator of this name."""
        self._made.append((result, arguments[0] if name not in INTO else arguments[1]))

    def clear(self) -> None:
        self._made.clear()

    def are_most(self, result: Any, given: Any) -> bool:
        """Whether more than half of a call's result are copies, still as they were made, of what it was given."""
        outputs = _tensors(result)
        places, known = ({_storage(tensor) for tensor in found} for found in (outputs, _tensors(given)))
        if places & known or not places <= {_storage(to) for to, _ in self._made}:
            return False
        copied: dict[int, int] = {}
        for to, source in self._made:
            if _storage(source) not in known and copied.get(_storage(source), 0) < source.numel():
                continue
            if source.dtype == to.dtype and same_bits(source.expand_as(to), to):
                copied[_storage(to)] = copied.get(_storage(to), 0) + to.numel()
        found = sum(min(tensor.numel(), copied.get(_storage(tensor), 0)) for tensor in outputs)
        return 2 * found > sum(tensor.numel() for tensor in outputs)


def _tensors(value: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    transform(value, found.append)
    return found


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
