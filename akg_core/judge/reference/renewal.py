"""New inputs for every timed call: other values in every place, at little cost, so that nothing can be remembered.

Worker side, in the reference process. A tensor of real numbers is mixed, in each element by a random part of its own,
from two draws of the task; what draws show to be meant is kept (see `Manner`). Where all inputs hold whole numbers,
each set is a draw by the task's own generator.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any, BinaryIO, Literal

import torch

from akg_core.task import draws, layout
from akg_core.task.arguments import flat
from akg_core.worker.answers import described
from akg_core.worker.layout import aligned
from akg_core.worker.tensors import fresh, memory

Manner = Literal["mixed", "scaled", "symmetric", "probabilities", "whole"]
"""`mixed`: between two draws. `scaled`: each element between 3/4 and 5/4 of what it was, so that zeros stay where they
are; `symmetric`: likewise, and stays so. `probabilities`: mixed, and rows sum to one again. `whole`: as drawn."""

_REAL = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
_AT_ONCE = 1 << 16  # elements, which stay in a core's cache
_ZEROS = 0.01  # of the elements: more are meant


class Renewal:
    """Makes sets of inputs from draws: `draw` gives one for a seed, and `seed` begins what is new in each set."""

    def __init__(self, draw: Callable[[int], list[Any]], seed: int) -> None:
        self._draw = draw
        self._generator = torch.Generator().manual_seed(seed)
        self._bases = [self._drawn(), self._drawn()]
        self._manners = [_manner(one, other) for one, other in zip(*self._bases, strict=True)]

    @property
    def given(self) -> list[dict[str, Any]]:
        """What a table says of the tensors of a set, in the order of `flat`."""
        return list(described(self._bases[0])["tensors"])

    def write(self, file: BinaryIO) -> None:
        """Write the memory of another set's tensors, each on a boundary of `aligned`."""
        whole = all(manner == "whole" for manner in self._manners)
        bases = [self._drawn()] * 2 if whole else self._bases
        for one, other, manner in zip(*bases, self._manners, strict=True):
            size = memory(one).nbytes
            if manner in ("mixed", "scaled"):
                self._write_mixed(file, memory(one), memory(other), manner)
            else:
                _write(file, memory(self._renewed(one, other, manner)))
            file.write(bytes(aligned(size) - size))

    def _drawn(self) -> list[torch.Tensor]:
        seed = int(torch.randint(1 << 31, (), generator=self._generator))
        return [fresh(value) for value in flat((), self._draw(seed)) if isinstance(value, torch.Tensor)]

    def _write_mixed(self, file: BinaryIO, one: torch.Tensor, other: torch.Tensor, manner: Manner) -> None:
        parts, new = torch.empty(2, min(_AT_ONCE, len(one)), dtype=one.dtype)
        for start in range(0, len(one), _AT_ONCE):
            ours = one[start : start + _AT_ONCE]
            part = self._parts(parts[: len(ours)])
            if manner == "scaled":
                torch.mul(ours, part.mul_(0.5).add_(0.75), out=new[: len(ours)])
            else:
                torch.lerp(ours, other[start : start + _AT_ONCE], part, out=new[: len(ours)])
            _write(file, new[: len(ours)])

    def _renewed(self, one: torch.Tensor, other: torch.Tensor, manner: Manner) -> torch.Tensor:
        if manner == "whole":
            return (one, other)[int(torch.randint(2, (), generator=self._generator))]
        part = self._parts(torch.empty(one.shape, dtype=one.dtype))
        if manner == "symmetric":
            return layout.replaced(one, lambda base: base * (part + part.mT).mul_(0.25).add_(0.75))
        mixed = torch.lerp(one, other, part).double()
        return layout.replaced(one, lambda base: (mixed / mixed.sum(-1, keepdim=True)).to(base.dtype))

    def _parts(self, parts: torch.Tensor) -> torch.Tensor:
        """Random numbers from 0 to 1, of eight bits each, which are sooner there than better ones."""
        count = parts.numel()
        bits = torch.empty(math.ceil(count / 8), dtype=torch.int64).random_(generator=self._generator)
        return parts.copy_(bits.view(torch.uint8)[:count].view(parts.shape)).mul_(1 / 256)


def _write(file: BinaryIO, flat_memory: torch.Tensor) -> None:
    if size := flat_memory.nbytes:
        file.write((ctypes.c_char * size).from_address(flat_memory.data_ptr()))


def _manner(one: torch.Tensor, other: torch.Tensor) -> Manner:
    if one.dtype not in _REAL or not one.numel() or one.shape != other.shape or one.stride() != other.stride():
        return "whole"
    apart = memory(one).numel() == one.numel()  # elsewhere elements share memory, or leave some out
    if draws.is_symmetric(one):
        return "symmetric" if apart else "whole"
    if draws.is_probabilities(one):
        return "probabilities" if apart else "whole"
    sample = one.flatten()[:4096].double()
    if len(sample) > 4 and bool((sample == sample.round()).all()) and len(sample.unique()) > 1:
        return "whole"  # labels, counts
    constant = torch.equal(one, other)
    return "scaled" if constant or float((sample == 0).double().mean()) > _ZEROS else "mixed"
