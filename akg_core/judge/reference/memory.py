"""How much memory judging may take: how many cases are prepared, and which answers are kept."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import torch

from akg_core.device import HOST, Device
from akg_core.judge.compare.case import Expected
from akg_core.judge.reference.memory_estimate import KEPT_BYTES, cases_within
from akg_core.machine import available_memory
from akg_core.records import Task

_MMAP_MAX, _MMAP_THRESHOLD, _TRIM_THRESHOLD = -4, -3, -1  # of mallopt
_LARGE_BYTES = 1 << 20
_SMALL_BYTES = 256 << 20  # of inputs or answers, up to which several times as much may stay from case to case
_BESIDE = 4  # times as much as an answer takes must be free on the host for one that stays
_PART = 128  # of the memory that the machine has free, up to which inputs and answers leave room for more


def keep_freed() -> None:
    """Have the C library keep what this process frees for what it allocates next.

    Memory fresh from the system costs more time than what is computed on it. Several times what is used at once may be
    kept, so that this is for small tasks, or for as long as one case takes.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(_MMAP_MAX, 0)
        libc.mallopt(_TRIM_THRESHOLD, -1)


def give_back_large() -> None:
    """Have the C library give the system back at once what this process frees, where it is large.

    Among small tensors that stay, aligned ones that are freed would leave gaps, each too small for the next of its
    size: what a process takes would grow with every call, as it does with glibc 2.36.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(_MMAP_THRESHOLD, _LARGE_BYTES)


def give_back_freed() -> None:
    """Have the C library give the system back what it keeps."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):
        libc.malloc_trim(0)


def keeping(given: int) -> Literal["never", "a case", "always"]:
    """For how long freed memory had better be kept by a process whose inputs, or answers, take so many bytes."""
    if given < _SMALL_BYTES:
        return "always"
    return "a case" if given < available_memory() // _PART else "never"


def nbytes(leaves: Iterable[Any]) -> int:
    """Bytes of the tensors among some values."""
    return sum(value.nbytes for value in leaves if isinstance(value, torch.Tensor))


def answer_bytes(answer: Expected) -> int:
    """Bytes of what the reference answers, in float64 too, and of what indices point into."""
    pointed = nbytes(values for tie in answer.ties.values() for values in (tie.values, tie.exact))
    return nbytes(answer.result.values()) + nbytes((answer.exact or {}).values()) + pointed


def is_kept(answer: Expected, device: Device) -> bool:
    """Whether an answer stays in memory: a device makes a large one again sooner than it has room for all, and the
    host one beside which the next may have no room."""
    return answer_bytes(answer) <= (device.free_bytes() // _BESIDE if device.name == HOST.name else KEPT_BYTES)


def cases_that_fit(task: Task, device: Device, room: int) -> int:
    """How many cases a device has memory for, of which a task may take `room` bytes, or (0) what is free; 0: any.

    On the host inputs lie in files, and answers that do not fit are made again.
    """
    return 0 if device.name == HOST.name else cases_within(task, room or device.free_bytes())


def rationed(device: Device, expected: dict[str, Expected]) -> Callable[[], bool]:
    """Whether the answers in `expected` take no more than a third of what is free on the host now."""
    most = device.free_bytes() // 3
    return lambda: device.name != HOST.name or sum(map(answer_bytes, expected.values())) <= most


@contextlib.contextmanager
def lent(values: Iterable[Any]) -> Iterator[None]:
    """Inside, what the tensors among some values hold lies in the host's memory, and theirs is free for others.

    Nobody may look at them meanwhile, nor at views of them, which hold what they held afterwards.
    """
    storages = [value.untyped_storage() for value in values if isinstance(value, torch.Tensor)]
    moved = {
        storage.data_ptr(): (storage, torch.UntypedStorage(storage.nbytes()).copy_(storage))
        for storage in storages
        if storage.resizable()
    }
    for storage, _ in moved.values():
        storage.resize_(0)
    try:
        yield
    finally:
        for storage, held in moved.values():
            storage.resize_(held.nbytes())
            storage.copy_(held)
