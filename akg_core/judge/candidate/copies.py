"""Whether copies that the library made are most of what a kernel has answered.

Copies are allowed, to put operands where a kernel wants them. An answer that they have put together, out of what the
kernel was given, is the library's work: a transpose or a concatenation is a copy, too.
"""

from __future__ import annotations

from typing import Any

import torch

from akg_core.judge.compare.bits import same_bits
from akg_core.worker.tensors import memory, transform

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
        """Whether more than half of the bytes of a call's result are copies, still as they were made, of what it was
        given. What lies in the memory of what it was given is no part of that.

        Memory that holds what was given, wherever it was moved to and by whom, is what was given, and an answer that
        holds all that a copy made is what that made. What a copy finds in its place already, it has not put there:
        simulated kernels have their results copied onto themselves.
        """
        handed = _tensors(given)
        known = {_storage(tensor) for tensor in handed}
        outputs = [tensor for tensor in _tensors(result) if _storage(tensor) not in known]
        places, sizes = {_storage(tensor) for tensor in outputs}, {tensor.nbytes for tensor in outputs}
        if not any(_storage(to) in places or to.nbytes in sizes for to, _ in self._made):
            return False
        moved: set[int] = set()  # outputs that hold all that one copy made
        copied: dict[int, int] = {}
        for to, source in self._made:
            if _is_place(to, source):
                continue
            is_given = _storage(source) in known or copied.get(_storage(source), 0) >= source.nbytes
            if not is_given and not any(_holds(source, tensor) for tensor in handed):
                continue
            if source.dtype != to.dtype:
                continue
            if same_bits(source.expand_as(to), to):
                copied[_storage(to)] = copied.get(_storage(to), 0) + to.nbytes
            moved |= {_storage(tensor) for tensor in outputs if _shows(source, to, tensor)}
        found = (tensor.nbytes if _storage(tensor) in moved else copied.get(_storage(tensor), 0) for tensor in outputs)
        parts = zip(found, outputs, strict=True)
        return 2 * sum(min(part, tensor.nbytes) for part, tensor in parts) > sum(tensor.nbytes for tensor in outputs)


def _is_place(to: torch.Tensor, source: torch.Tensor) -> bool:
    """Whether two tensors are the same elements of the same memory."""
    return (to.data_ptr(), to.shape, to.stride()) == (source.data_ptr(), source.shape, source.stride())


def _shows(source: torch.Tensor, to: torch.Tensor, output: torch.Tensor) -> bool:
    """Whether the memory of an output holds what a copy made of its source, in the order that this had where it was
    made: the source tells, for what the copy made may be gone."""
    flat = _bytes(memory(output))
    if _storage(output) in (_storage(to), _storage(source)):  # what is copied out of it is no part of it
        return False
    if to.device != output.device or not 0 < flat.nbytes == memory(to).nbytes:
        return False
    if to.nbytes != flat.nbytes or flat.storage_offset() % to.element_size():
        return False
    return same_bits(source.expand_as(to), flat.view(to.dtype).as_strided(to.shape, to.stride()))


def _holds(source: torch.Tensor, given: torch.Tensor) -> bool:
    """Whether all memory of a tensor's elements holds, in its order, what that of another one does."""
    one, other = memory(source), memory(given)
    return 0 < one.nbytes == other.nbytes and one.device == other.device and same_bits(_bytes(one), _bytes(other))


def _bytes(flat: torch.Tensor) -> torch.Tensor:
    return flat.view(torch.uint8)


def _tensors(value: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    transform(value, found.append)
    return found


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
