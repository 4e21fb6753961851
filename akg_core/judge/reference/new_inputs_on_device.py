"""New inputs for every call that is timed on a device, made there: other values in every place, by a seed.

Worker side, in the reference process. It does what `akg_core.judge.reference.new_inputs` does on the host, which says
what is kept of the draws, by few operations on whole tensors. A large tensor of real numbers is mixed from one draw
with itself, each from another row on.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from akg_core.judge.reference.new_inputs import SIDES, Manner, manner_of, must_be_drawn, row_of, symmetric_factors
from akg_core.task import layout
from akg_core.task.arguments import flat
from akg_core.worker.answers import described
from akg_core.worker.tensors import compact, fresh, memory, transform

_SMALL_BYTES = 32 << 20  # of a draw that is held twice in a row, so that it may begin anywhere
_LARGE_BYTES = 256 << 20  # of one that is held once
_DRAWN_BYTES = 16 << 20  # of a set that is drawn for its whole numbers beside real ones: by the host, for each call


class Refill:
    """Makes sets of inputs from draws: `draw` gives one for a seed, and `seed` those that sets are made from.

    `given`: what a table says of the tensors of a set, in the order of `flat`; `like`: a draw, of which tensors have no
    memory.
    """

    def __init__(self, draw: Callable[[int], list[Any]], seed: int) -> None:
        self._draw = draw
        drawn = draw(seed)
        self.like: list[Any] = transform(drawn, _without_memory)
        one = _tensors(drawn)
        del drawn  # before more is drawn: there may be memory for no third
        other = _tensors(draw(seed + 1))
        if not _places(one).isdisjoint(_places(other)):
            one, other = fresh(_tensors(draw(seed))), fresh(_tensors(draw(seed + 1)))
        self.given: list[dict[str, Any]] = list(described(one)["tensors"])
        self._sources = [_Source(*pair) for pair in zip(one, other, strict=True)]
        is_small = sum(tensor.nbytes for tensor in one) <= _DRAWN_BYTES
        asking = any(source.must_be_drawn for source in self._sources)
        self._is_drawn = asking and (is_small or all(source.manner == "whole" for source in self._sources))

    def write(self, targets: Sequence[torch.Tensor], seed: int) -> None:
        """Write the set of a seed: the memory of each tensor, flat and of its dtype."""
        host = torch.Generator().manual_seed(seed)
        drawn = _tensors(self._draw(seed)) if self._is_drawn else []
        for place, (source, target) in enumerate(zip(self._sources, targets, strict=True)):
            if drawn and source.manner == "whole":
                target.copy_(memory(drawn[place]))
            elif target.numel():
                source.write(target, torch.Generator(target.device).manual_seed(seed + place), host)


class _Source:
    """What one tensor is made of: its draws, how, and with which rows it may begin."""

    def __init__(self, one: torch.Tensor, other: torch.Tensor) -> None:
        self.manner: Manner = manner_of(one, other)
        self.must_be_drawn = must_be_drawn(one, other, self.manner)
        self._row = row_of(one, other, self.manner)
        self._like, self._beside = one, other
        self._count = memory(one).numel()
        mixed = self.manner in ("mixed", "scaled", "whole")
        once = mixed and one.nbytes > _LARGE_BYTES and self._row and self.manner != "whole"
        self._draws = [_Around(memory(draw), self._count) for draw in ((one,) if once else (one, other))]
        if mixed:
            self._like = self._beside = one.new_empty(0)  # their memory is held by what goes around them, or by nobody

    def write(self, target: torch.Tensor, generator: torch.Generator, host: torch.Generator) -> None:
        """Write a new tensor's memory; random parts of elements come from the device's generator."""
        if self.manner in ("symmetric", "probabilities"):
            target.copy_(memory(self._kept(generator)))
            return
        one, other = self._draws[0], self._draws[-1]
        begin = self._begin(host)
        beside = (begin + self._row + self._begin(host, 1)) % self._count
        if self.manner == "whole":
            picked = self._draws[int(torch.randint(2, (), generator=host))]
            picked.pieces(begin, lambda start, piece: target[start : start + len(piece)].copy_(piece))
        elif self.manner == "scaled":
            target.uniform_(0.75, 1.25, generator=generator)
            one.pieces(begin, lambda start, piece: target[start : start + len(piece)].mul_(piece))
        else:
            target.uniform_(generator=generator)
            for start, size in _parts(self._count, one.cut(begin), other.cut(beside)):
                part = target[start : start + size]
                torch.lerp(one.at(begin, start, size), other.at(beside, start, size), part, out=part)

    def _begin(self, host: torch.Generator, fewer: int = 0) -> int:
        """Where one of the rows begins, less so many."""
        if not self._row:
            return 0
        return int(torch.randint(max(1, self._count // self._row - fewer), (), generator=host)) * self._row

    def _kept(self, generator: torch.Generator) -> torch.Tensor:
        one, other = self._like, self._beside
        if self.manner == "symmetric":
            sides = one.new_empty(SIDES, *one.shape[:-1], 1).uniform_(generator=generator)
            return layout.replaced(one, lambda base: base * symmetric_factors(sides))
        part = torch.empty_like(one).uniform_(generator=generator)
        mixed = torch.lerp(one, other, part).double()
        return layout.replaced(one, lambda base: (mixed / mixed.sum(-1, keepdim=True)).to(base.dtype))


class _Around:
    """A draw's memory, behind whose last element comes the first; a small one is held twice in a row for that."""

    def __init__(self, held: torch.Tensor, count: int) -> None:
        self._count, self._twice = count, held.nbytes <= _SMALL_BYTES
        self._held = torch.cat((held, held)) if self._twice else held

    def cut(self, begin: int) -> int:
        """How many elements there are from `begin` on before the first comes again."""
        return self._count if self._twice else self._count - begin

    def at(self, begin: int, start: int, size: int) -> torch.Tensor:
        """So many elements from `start` on, of a tensor that begins with that of number `begin`."""
        first = begin + start if self._twice else (begin + start) % self._count
        return self._held[first : first + size]

    def pieces(self, begin: int, take: Callable[[int, torch.Tensor], Any]) -> None:
        """Have all elements taken, in pieces that lie in a row: where each begins, and the piece."""
        for start, size in _parts(self._count, self.cut(begin)):
            take(start, self.at(begin, start, size))


def _tensors(values: list[Any]) -> list[torch.Tensor]:
    """The tensors among arguments; what they hold may be shared, and a later draw may hold it too."""
    return [compact(value) for value in flat((), values) if isinstance(value, torch.Tensor)]


def _places(tensors: list[torch.Tensor]) -> set[int]:
    return {tensor.untyped_storage().data_ptr() for tensor in tensors if tensor.numel()}


def _without_memory(tensor: torch.Tensor) -> torch.Tensor:
    tensor = compact(tensor)
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")


def _parts(count: int, *cuts: int) -> list[tuple[int, int]]:
    """Pieces of so many elements between cuts: where each begins, and its size."""
    edges = sorted({0, count, *cuts})
    return [(start, end - start) for start, end in itertools.pairwise(edges)]
