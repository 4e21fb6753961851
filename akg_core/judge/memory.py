"""How much memory judging may take: how many cases are prepared, and which answers are kept."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from typing import Any

import torch

from akg_core.judge.compare import Expected
from akg_core.judge.need import KEPT_BYTES, cases_within
from akg_core.records import Task
from akg_core.worker.device import HOST, Device

_MMAP_MAX, _TRIM_THRESHOLD = -4, -1  # of mallopt


def keep_freed() -> None:
    """Have the C library keep what this process frees for what it allocates next.

    Memory fresh from the system costs more time than what is computed on it. Several times what is used at once may be
    kept, so that this is for small tasks.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(_MMAP_MAX, 0)
        libc.mallopt(_TRIM_THRESHOLD, -1)


def nbytes(leaves: Iterable[Any]) -> int:
    """Bytes of the tensors among some values."""
    return sum(value.nbytes for value in leaves if isinstance(value, torch.Tensor))


def answer_bytes(answer: Expected) -> int:
    """Bytes of what the reference answers, in float64 too, and of what indices point into."""
    pointed = nbytes(values for values, _ in answer.ties.values())
    return nbytes(answer.result.values()) + nbytes((answer.exact or {}).values()) + pointed


def is_kept(answer: Expected, device: Device) -> bool:
    """Whether an answer stays in memory: a device makes a large one again sooner than it has room for all."""
    return device.name == HOST.name or answer_bytes(answer) <= KEPT_BYTES


def rationed(task: Task, device: Device, room: int, expected: dict[str, Expected]) -> Callable[[int], bool]:
    """Whether another case fits in memory beside so many.

    On the host, answers, those in `expected`, may take a third of what is free now. Of a device a task may take `room`
    bytes, or where that is not known (0) what is free.
    """
    free = device.free_bytes()
    if device.name == HOST.name:
        return lambda cases: sum(map(answer_bytes, expected.values())) <= free // 3
    most = cases_within(task, room or free)
    return lambda cases: cases < most
