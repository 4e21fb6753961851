"""Sizes other than its example's at which a dynamic task is judged: none at which one call takes very long."""

from __future__ import annotations

import math

from akg_core.device import HOST, Device
from akg_core.judge.reference.lower_bound import effort
from akg_core.records import Task
from akg_core.task.graph import is_for
from akg_core.task.inputs.sizes import hidden_sizes

FASTER = 32  # times that another device than the host does, and may hold, for the same cases
WORK = 2e8  # of one call at larger sizes, in the unit of `effort`
_AT_ONCE = 4  # times the example's work, which are not too many however large that is


def work(task: Task, device: Device) -> float:
    """How much one call computes, in what the host does for an element."""
    faster = 1 if device.name == HOST.name else FASTER
    return max(1.0, effort(task, faster) / faster)


def hidden(task: Task, seed: int, device: Device, most: float = WORK) -> list[dict[str, int]]:
    """`hidden_sizes`, without those at which one call computes more than `most`, and many times the example's."""
    least = work(task, device)
    return [s for s in hidden_sizes(task, seed) if least * _growth(task, s) <= max(most, _AT_ONCE * least)]


def asked(task: Task, device: Device) -> list[Task]:
    """The task at each of the sizes at which it may be judged, its example's first."""
    cases = [{**task.symbols, **case} for case in task.cases]  # of any that the graph is not for it has no sizes
    sizes = [task.symbols, *(each for each in cases if is_for(task.interface, each)), *hidden(task, 0, device)]
    return [task.model_copy(update={"symbols": each}) for each in sizes]


def _growth(task: Task, sizes: dict[str, int]) -> float:
    """How many times the example's work other sizes take, about: as if each of them multiplied all of it."""
    return math.prod(max(1.0, sizes[name] / size) for name, size in task.symbols.items())
