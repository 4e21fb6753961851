"""A model that is being timed: its inputs, rotated among copies, and what is looked at of its answers.

Worker side, in the candidate's own process.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import torch

from akg_core.device import Device
from akg_core.judge.compare.bits import named
from akg_core.judge.reference.memory import nbytes
from akg_core.judge.reference.updates import Originals
from akg_core.records import Case
from akg_core.task.arguments import flat, rebuilt
from akg_core.worker.tensors import fresh, load, memory

_PAGE = 4096  # bytes, of which the system knows whether anybody has looked at them
_COPIES = ((32 << 20, 3), (1 << 30, 2))  # inputs of less than so many bytes are rotated among so many copies


class TimedModel:
    """A model that is being timed, and the copies of its inputs: new ones, or those of another on the same case."""

    def __init__(self, subject: Any, case: Case, copies: list[list[Any]] | None) -> None:
        self.subject, self.model, self.device = subject, subject.model, subject.device
        subject.enter(case)
        self.copies, self.are_as_drawn = copies or _copies(case, self.device), True
        self._inputs = itertools.cycle(self.copies)
        self._originals = Originals(case.updates, self.copies[0])
        self._places = self._held()
        self.device.release_unused()

    def arguments(self, anew: bool = True) -> list[Any]:
        """The next copy of the inputs; `anew`: what calls have updated in it holds again what it held."""
        arguments = next(self._inputs)
        if anew:
            self._originals.restore(arguments)
        return arguments

    def few(self, tensor: torch.Tensor) -> torch.Tensor:
        """Some 64 elements spread over an answer, and one on each page of its memory where that is no input's."""
        flat = memory(tensor.detach())
        step = flat.numel() // 64
        if tensor.untyped_storage().data_ptr() not in self._places:
            step = min(step, _PAGE // flat.element_size())
        return flat[:: max(1, step)].clone()

    def put(self, case: Case, arguments: list[Any]) -> dict[str, Any]:
        """Put the case's values, which are given back, where others were, so that who remembers these is found out."""
        given, self.are_as_drawn = load(inputs_of(case), self.device), False
        held = flat((), arguments)
        for index, value in enumerate(flat((), given)):
            if isinstance(value, torch.Tensor) and value.stride() == held[index].stride():
                memory(held[index]).copy_(memory(value))
            else:
                held[index] = fresh(value)
        arguments[:] = rebuilt(arguments, held)
        self._places = self._held()
        return named(given, self.subject.enter(case))

    def _held(self) -> frozenset[int]:
        """Where the copies of the inputs lie, found out once: samples of tiny kernels do not wait for that."""
        tensors = (value for copy in self.copies for value in flat((), copy) if isinstance(value, torch.Tensor))
        return frozenset(tensor.untyped_storage().data_ptr() for tensor in tensors)


def _copies(case: Case, device: Device) -> list[list[Any]]:
    given = load(inputs_of(case), device)
    size = nbytes(given)
    return [fresh(given) for _ in range(next((n for below, n in _COPIES if size < below), 1))]


def inputs_of(case: Case) -> Path:
    """Where the inputs of a case lie; raises ValueError for one that has none."""
    if case.inputs is None:
        raise ValueError("a case without inputs cannot be run")
    return case.inputs
