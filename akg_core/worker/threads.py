"""Threads of this process: with how many torch works, and kernels for the host too; and one for what runs apart."""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import functools
import os
from collections.abc import Callable, Iterator
from typing import Any

import torch

from akg_core.worker.usage import ran, waited

_SMALL_BYTES = 4 << 20
_WAITED = 0.75  # of the time that threads ran; beside a process with as many at work it is about all of it


def _openmp() -> ctypes.CDLL | None:
    """GCC's OpenMP, where torch brings it."""
    with contextlib.suppress(OSError):
        return ctypes.CDLL("libgomp.so.1", mode=os.RTLD_NOW | os.RTLD_NOLOAD)
    return None


gomp, _pause = _openmp(), ctypes.CDLL(None).pause  # looked up before a kernel is there


@functools.cache
def spin_little() -> None:
    """Have threads of OpenMP that wait for each other sleep soon, where they would spin for milliseconds first.

    So it does where a process has more threads than there are cores: it gets two more, which do nothing for good.
    """
    if not gomp:
        return
    started = _thread.allocate_lock()

    def wait() -> None:
        started.release()
        gomp.GOMP_parallel(_pause, None, 2, 0)

    started.acquire()
    _thread.start_new_thread(wait, ())
    started.acquire()


def spin_little_beside_others() -> None:
    """`spin_little` once threads of this process have waited for processors for nearly as long as they had them.

    Who spins beside other processes holds a processor that the thread it waits for may be waiting for.
    """
    own = [os.getpid()]
    if sum(waited(own).values()) > _WAITED * sum(ran(own).values()) / 1e9:
        spin_little()


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    """Work with so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def threads_for(size: int) -> contextlib.AbstractContextManager[None]:
    """Work with one thread on so few bytes that more would cost more than they do, above all beside other processes."""
    return threads(1) if size < _SMALL_BYTES else contextlib.nullcontext()


def alone(action: Callable[[], Any]) -> Any:
    """What `action` gives, or raises, in a thread of its own."""
    ended: list[tuple[Any, BaseException | None]] = []
    running = _thread.allocate_lock()

    def work() -> None:
        try:
            ended.append((action(), None))
        except BaseException as error:
            ended.append((None, error))
        finally:
            running.release()

    running.acquire()
    _thread.start_new_thread(work, ())
    running.acquire()
    result, error = ended[0]
    if error is not None:
        raise error
    return result
