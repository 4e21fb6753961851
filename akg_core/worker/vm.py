"""Memory of another process, read and written from outside; it should stand still meanwhile. See process_vm_readv(2).

A process may do that to one that it has started, unless that one hides its memory.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Callable

_libc = ctypes.CDLL(None, use_errno=True)
_AT_ONCE = 1 << 30  # bytes of one system call


class _Range(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class View:
    """Some bytes of this process with their address: of a file that is mapped, or of an empty one that is made so long.

    Close it, or use it as a context.
    """

    def __init__(self, descriptor: int, size: int, *, writable: bool = False) -> None:
        if writable:
            os.ftruncate(descriptor, size)
        self.size = size
        self._map = mmap.mmap(descriptor, size, flags=mmap.MAP_SHARED if writable else mmap.MAP_PRIVATE)
        self._held = ctypes.c_char.from_buffer(self._map)
        self.address = ctypes.addressof(self._held)

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        del self._held
        self._map.close()


def write(process: int, address: int, source: int, size: int) -> None:
    """Copy `size` bytes from `source`, here, to `address` there. Raises OSError."""
    _move("process_vm_writev", process, source, address, size)


def read(process: int, address: int, target: int, size: int) -> None:
    """Copy `size` bytes from `address` there to `target`, here. Raises OSError."""
    _move("process_vm_readv", process, target, address, size)


def _move(name: str, process: int, here: int, there: int, size: int) -> None:
    call: Callable[..., int] = getattr(_libc, name)
    call.restype = ctypes.c_ssize_t  # type: ignore[attr-defined]
    done = 0
    while done < size:
        length = min(size - done, _AT_ONCE)
        ours, theirs = _Range(here + done, length), _Range(there + done, length)
        moved = call(process, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
        if moved <= 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        done += moved
