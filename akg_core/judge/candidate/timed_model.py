"""A model of which an impression is taken of how long it takes: its inputs, rotated among copies.

Worker side, in the candidate's own process.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from akg_core.device import Device
from akg_core.judge.reference.memory import nbytes
from akg_core.judge.reference.updates import Originals
from akg_core.records import Case
from akg_core.worker.tensors import fresh, load

_COPIES = ((32 << 20, 3), (1 << 30, 2))  # inputs of less than so many bytes are rotated among so many copies


class TimedModel:
    """A model that is being timed, and the copies of its inputs: new ones, or those of another on the same case."""

    def __init__(self, subject: Any, case: Case, copies: list[list[Any]] | None) -> None:
        self.subject, self.model, self.device = subject, subject.model, subject.device
        subject.enter(case)
        self.copies = copies or _copies(case, self.device)
        self._inputs = itertools.cycle(self.copies)
        self._originals = Originals(case.updates, self.copies[0])
        self.device.release_unused()

    def arguments(self, anew: bool = True) -> list[Any]:
        """The next copy of the inputs; `anew`: what calls have updated in it holds again what it held."""
        arguments = next(self._inputs)
        if anew:
            self._originals.restore(arguments)
        return arguments


def _copies(case: Case, device: Device) -> list[list[Any]]:
    given = load(inputs_of(case), device)
    size = nbytes(given)
    return [fresh(given) for _ in range(next((n for below, n in _COPIES if size < below), 1))]


def inputs_of(case: Case) -> Path:
    """Where the inputs of a case lie; raises ValueError for one that has none."""
    if case.inputs is None:
        raise ValueError("a case without inputs cannot be run")
    return case.inputs
