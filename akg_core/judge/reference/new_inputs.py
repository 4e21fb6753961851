"""New inputs for every timed call: other values in every place, at little cost, so that nothing can be remembered.

Worker side, in the reference process. A tensor of real numbers is mixed, in each element by a random part of its own,
from two draws of the task, whose rows come in the order that they have but begin anywhere: else it would be known of
each place between which numbers it lies, and where a row's greatest can be. What draws show to be meant is kept (see
`Manner`). Where an input holds whole numbers, which nothing mixes, each set is made from a draw of its own by the
task's generator: rows that come again would be answered from memory.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any, BinaryIO, Literal

import torch

from akg_core.task import layout
from akg_core.task.arguments import flat
from akg_core.task.inputs import draws
from akg_core.worker.answers import described
from akg_core.worker.layout import aligned
from akg_core.worker.tensors import fresh, memory

Manner = Literal["mixed", "scaled", "symmetric", "probabilities", "whole"]
"""`mixed`: between two draws. `scaled`: each element between 3/4 and 5/4 of what it was, so that zeros stay where they
are; `symmetric`: likewise, by `symmetric_factors`. `probabilities`: mixed, and rows sum to one again. `whole`: as
drawn."""

_REAL = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
_AT_ONCE = 1 << 16  # elements, which stay in a core's cache
SIDES = 4  # outer products that factors of a symmetric matrix are made of
_ZEROS = 0.01  # of the elements: more are meant


class Renewal:
    """Makes sets of inputs from draws: `draw` gives one for a seed, and `seed` begins what is new in each set."""

    def __init__(self, draw: Callable[[int], list[Any]], seed: int) -> None:
        self._draw = draw
        self._generator = torch.Generator().manual_seed(seed)
        self._bases = [self._drawn(), self._drawn()]
        self._manners = [manner_of(one, other) for one, other in zip(*self._bases, strict=True)]
        self._rows = [row_of(one, other, m) for one, other, m in zip(*self._bases, self._manners, strict=True)]
        self._is_drawn = any(map(must_be_drawn, *self._bases, self._manners))

    @property
    def given(self) -> list[dict[str, Any]]:
        """What a table says of the tensors of a set, in the order of `flat`."""
        return list(described(self._bases[0])["tensors"])

    def write(self, file: BinaryIO) -> None:
        """Write the memory of another set's tensors, each on a boundary of `aligned`."""
        bases = [self._drawn()] * 2 if self._is_drawn else self._bases
        for one, other, manner, row in zip(*bases, self._manners, self._rows, strict=True):
            size = memory(one).nbytes
            if manner in ("mixed", "scaled"):
                self._write_mixed(file, memory(one), memory(other), manner, row)
            else:
                new = memory(self._renewed(one, other, manner))
                begin = self._begin(len(new), row)
                _write(file, new[begin:])
                _write(file, new[:begin])
            file.write(bytes(aligned(size) - size))

    @staticmethod
    def write_drawn(file: BinaryIO, inputs: list[Any]) -> None:
        """Write inputs as they were drawn, laid out as a set."""
        for tensor in (fresh(value) for value in flat((), inputs) if isinstance(value, torch.Tensor)):
            _write(file, memory(tensor))
            file.write(bytes(aligned(memory(tensor).nbytes) - memory(tensor).nbytes))

    def _drawn(self) -> list[torch.Tensor]:
        seed = int(torch.randint(1 << 31, (), generator=self._generator))
        return [fresh(value) for value in flat((), self._draw(seed)) if isinstance(value, torch.Tensor)]

    def _begin(self, size: int, row: int) -> int:
        """At which of so many elements a tensor of such rows begins; 0 for rows of none, which stay where they are."""
        return int(torch.randint(max(1, size // row), (), generator=self._generator)) * row if row else 0

    def _write_mixed(self, file: BinaryIO, one: torch.Tensor, other: torch.Tensor, manner: Manner, row: int) -> None:
        parts, new = torch.empty(2, min(_AT_ONCE, len(one)), dtype=one.dtype)
        begin, beside = self._begin(len(one), row), self._begin(len(one), row)
        for start in range(0, len(one), _AT_ONCE):
            ours = _around(one, begin + start, min(_AT_ONCE, len(one) - start))
            part = self._parts(parts[: len(ours)])
            if manner == "scaled":
                torch.mul(ours, part.mul_(0.5).add_(0.75), out=new[: len(ours)])
            else:
                torch.lerp(ours, _around(other, beside + start, len(ours)), part, out=new[: len(ours)])
            _write(file, new[: len(ours)])

    def _renewed(self, one: torch.Tensor, other: torch.Tensor, manner: Manner) -> torch.Tensor:
        if manner == "whole":
            return one
        if manner == "symmetric":
            sides = self._parts(torch.empty(SIDES, *one.shape[:-1], 1, dtype=one.dtype))
            return layout.replaced(one, lambda base: base * symmetric_factors(sides))
        part = self._parts(torch.empty(one.shape, dtype=one.dtype))
        mixed = torch.lerp(one, other, part).double()
        return layout.replaced(one, lambda base: (mixed / mixed.sum(-1, keepdim=True)).to(base.dtype))

    def _parts(self, parts: torch.Tensor) -> torch.Tensor:
        """Random numbers from 0 to 1, of eight bits each, which are sooner there than better ones."""
        count = parts.numel()
        bits = torch.empty(math.ceil(count / 8), dtype=torch.int64).random_(generator=self._generator)
        return parts.copy_(bits.view(torch.uint8)[:count].view(parts.shape)).mul_(1 / 256)


def symmetric_factors(sides: torch.Tensor) -> torch.Tensor:
    """Factors [*, n, n] between 9/16 and 25/16, of numbers between 0 and 1 [SIDES, *, n, 1].

    A symmetric matrix stays so by them, and a definite one definite: outer products are semidefinite, and so is their
    mean (Schur's product theorem).
    """
    sides = sides.mul(0.5).add_(0.75)
    return (sides * sides.mT).mean(0)


def _around(flat_memory: torch.Tensor, start: int, count: int) -> torch.Tensor:
    """So many elements from a place on; behind the last comes the first."""
    start %= len(flat_memory)
    piece = flat_memory[start : start + count]
    return piece if len(piece) == count else torch.cat((piece, flat_memory[: count - len(piece)]))


def _write(file: BinaryIO, flat_memory: torch.Tensor) -> None:
    if size := flat_memory.nbytes:
        file.write((ctypes.c_char * size).from_address(flat_memory.data_ptr()))


def manner_of(one: torch.Tensor, other: torch.Tensor) -> Manner:
    """How a tensor of which these are two draws is made anew."""
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


def must_be_drawn(one: torch.Tensor, other: torch.Tensor, manner: Manner) -> bool:
    """Whether only another draw makes a tensor new."""
    return manner == "whole" and not torch.equal(one, other)


def row_of(one: torch.Tensor, other: torch.Tensor, manner: Manner) -> int:
    """How many elements of the memory are a row, with which it may begin; 0 where places mean something.

    They do where draws have the same zeros or numbers there, or are sorted. A single row may begin anywhere.
    """
    count = memory(one).numel()
    if manner in ("symmetric", "probabilities") or one.shape != other.shape or count != one.numel() or count < 2:
        return 0
    if torch.equal(one, other) or (manner != "mixed" and (torch.equal(one == 0, other == 0) or _is_sorted(one))):
        return 0
    length = next(size for size, stride in zip(one.shape, one.stride(), strict=True) if stride == 1 and size > 1)
    return length if length < count else 1


def _is_sorted(tensor: torch.Tensor) -> bool:
    """Whether numbers rise, or fall, along the last dimension, as those do that tell where something begins."""
    steps = tensor.double().diff(dim=-1)
    return bool((steps >= 0).all()) or bool((steps <= 0).all())
