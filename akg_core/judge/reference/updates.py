"""What a reference updates in place: what a call leaves there, and how arguments get back what they held.

Worker side. Places count the values that forward takes as the interface's arguments do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from akg_core.judge.compare.bits import changed
from akg_core.records import Interface
from akg_core.task.arguments import flat
from akg_core.worker.tensors import fresh


def places(interface: Interface) -> tuple[int, ...]:
    """The places of the arguments that forward updates."""
    return tuple(place for place, argument in enumerate(interface.arguments) if argument.mutated)


def left_in_state(interface: Interface) -> tuple[str, ...]:
    """The names of the parameters and buffers that forward updates."""
    return tuple(each.name for each in interface.parameters if each.mutated)


def touched(
    before: dict[str, Any], after: dict[str, Any], interface: Interface, arguments: Sequence[Any]
) -> tuple[dict[str, torch.Tensor], frozenset[str]]:
    """What a call left different or may leave so, and the names of what it may but did not, as with a relu of ones.

    A kernel that rounds otherwise than the reference may leave a running mean different where this one did not.
    """
    values = flat(interface.arguments, arguments)
    updated = [id(values[place]) for place in places(interface)]
    states = {f"state {name}" for name in left_in_state(interface)}
    different = changed(before, after)
    possible = {name: value for name, value in after.items() if id(value) in updated or name in states}
    return fresh(different | possible), frozenset(possible.keys() - different.keys())


class Originals:
    """What the arguments at some places hold now, to be put back before a call that is to do the same work."""

    def __init__(self, at: Sequence[int], arguments: Sequence[Any]) -> None:
        self._at, values = at, flat((), arguments)
        self._held = [fresh(values[place]) for place in at]

    def restore(self, arguments: Sequence[Any]) -> None:
        """Put it back into these arguments."""
        values = flat((), arguments) if self._at else []
        for place, held in zip(self._at, self._held, strict=True):
            values[place].copy_(held)
