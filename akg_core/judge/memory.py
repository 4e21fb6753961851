"""How much memory judging may take: how many cases are prepared, and which answers are kept."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from typing import Any

import torch

from akg_core.judge.compare import Expected
from akg_core.worker.device import HOST, Device

_MMAP_MAX, _TRIM_THRESHOLD = -4, -1  # of mallopt
_LARGE_BYTES = 1 << 30
_COPIES = 8  # of a case's inputs and outputs that judging holds on a device at once, float64 counted twice


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
    """Bytes of what the reference answers, in float64 too."""
    return nbytes(answer.result.values()) + nbytes((answer.exact or {}).values())


def is_kept(answer: Expected, device: Device) -> bool:
    """Whether an answer stays in memory: a device makes a large one again sooner than it has room for all."""
    return device.name == HOST.name or answer_bytes(answer) <= _LARGE_BYTES


def rationed(device: Device, inputs: Iterable[Any], expected: dict[str, Expected]) -> Callable[[int], bool]:
    """Whether another case fits in memory beside so many, by the first, whose answer is in `expected`.

    On the host, answers may take a third of what is free now. A device's memory holds the inputs that were lent, and
    will hold the outputs of each case that the candidate lends.
    """
    room = device.free_bytes()
    if device.name == HOST.name:
        return lambda cases: sum(map(answer_bytes, expected.values())) <= room // 3
    size = nbytes(inputs) + sum(nbytes(answer.result.values()) for answer in expected.values())
    return lambda cases: device.free_bytes() > (_COPIES + cases) * size
