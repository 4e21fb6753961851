"""How a process ends that runs protected memory, and that no code can change how it ends.

A fault is a signal, which comes to whatever thread made it, whatever that holds. So what answers it is machine code of
its own, a few instructions that ask whether the address lies in a row of protected pages: then the process exits with
RAN_LIBRARY, else the handler that was there before goes on. Who ends by `exit` runs none of what libraries have to do
then, which lies in such pages. Signals that a process sends itself do not end the first one of a namespace: once their
handlers are through, it exits with a code that names the signal. All this is made for x86_64; elsewhere such an end
looks like any other.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import platform
import signal
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from akg_core.worker.limits import FATAL, RAN_LIBRARY, SIGNALLED

_ONCE = 0x80000000  # SA_RESETHAND
_PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
_ROWS = 4096  # for which there is room
_MANY = 1 << 14  # callbacks: more than a page has room for
_ROW = struct.Struct("<QQ")
_EXIT = b"\xb8\xe7\x00\x00\x00\x0f\x05"  # mov eax, exit_group; syscall: with what edi holds, at once
_kept: list[Any] = []
_table: list[mmap.mmap] = []


class _Action(ctypes.Structure):
    """struct sigaction of the C library."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_uint64 * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


def answer() -> None:
    """Set handlers that stay as they are: each ends the process at its first signal. To be called before the filter
    of system calls that lets nobody set any.
    """
    native = platform.machine() == "x86_64"
    sigaction = ctypes.CDLL(None).sigaction
    sigaction.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    action = _Action()
    for number in FATAL:
        sigaction(number, None, ctypes.byref(action))
        if native and (action.handler or 0) > 1:  # 0 and 1: what is done without a handler, and nothing
            action.handler = _code(_ending(action.handler or 0))
        action.flags |= _ONCE
        sigaction(number, ctypes.byref(action), None)
    sigaction(signal.SIGSEGV, None, ctypes.byref(action))
    if native:
        table = mmap.mmap(-1, (_ROWS + 1) * _ROW.size, flags=_PRIVATE)
        _table.append(table)
        action.handler = _code(_handler(_address(table), action.handler or 0))
        action.flags |= 4  # SA_SIGINFO
        with contextlib.suppress(AttributeError):  # which not every C library has
            ctypes.CDLL(None).on_exit(ctypes.c_void_p(_code(_EXIT)), None)
    action.flags |= _ONCE
    sigaction(signal.SIGSEGV, ctypes.byref(action), None)


def protect(rows: Sequence[tuple[int, int]]) -> None:
    """Let faults at addresses between these begins and ends be told apart."""
    for table in _table:
        table.seek(0)
        table.write(b"".join(_ROW.pack(*row) for row in rows[:_ROWS]))


def forbid_written_code() -> None:
    """Take the right to be written to from all memory that can be executed. To be called when no more can be made so.

    Python keeps some for callbacks of C. It is used up first, since whoever asked for one would write to it.
    """
    written = [line.split("-") for line in Path("/proc/self/maps").read_text().splitlines() if " rwx" in line[:60]]
    if not written:
        return
    kind = ctypes.CFUNCTYPE(None)
    with contextlib.suppress(MemoryError):
        _kept.extend(kind(_nothing) for _ in range(_MANY))
    for begin, rest in written:
        low, high = int(begin, 16), int(rest.split()[0], 16)
        _set_rights(low, high - low, mmap.PROT_READ | mmap.PROT_EXEC)


def _nothing() -> None: ...


def _code(instructions: bytes) -> int:
    """The address of a page of its own with these instructions."""
    page = mmap.mmap(-1, len(instructions), flags=_PRIVATE)
    page.write(instructions)
    _kept.append(page)
    _set_rights(_address(page), mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_EXEC)
    return _address(page)


def _ending(before: int) -> bytes:
    """Machine code of a handler that has this one say what it says, and then exits."""
    return b"".join(
        (
            b"\x57",  # push rdi: the signal
            b"\x48\xb8" + struct.pack("<Q", before),  # movabs rax, before
            b"\xff\xd0",  # call rax
            b"\x5f",  # pop rdi
            b"\x81\xc7" + struct.pack("<I", SIGNALLED),  # add edi, SIGNALLED
            _EXIT,
        )
    )


def _handler(table: int, before: int) -> bytes:
    """Machine code for what is written beside it; an empty row ends the table."""
    return b"".join(
        (
            b"\x48\x8b\x46\x10",  # mov rax, [rsi+16]: the address, of siginfo_t
            b"\x48\xb9" + struct.pack("<Q", table),  # movabs rcx, table
            b"\x48\x83\x39\x00",  # next: cmp qword ptr [rcx], 0
            b"\x74\x1d",  # je other
            b"\x48\x3b\x01",  # cmp rax, [rcx]
            b"\x72\x06",  # jb skip
            b"\x48\x3b\x41\x08",  # cmp rax, [rcx+8]
            b"\x72\x06",  # jb hit
            b"\x48\x83\xc1\x10",  # skip: add rcx, 16
            b"\xeb\xe9",  # jmp next
            b"\xbf" + struct.pack("<I", RAN_LIBRARY),  # hit: mov edi, RAN_LIBRARY
            _EXIT,
            b"\x48\xb8" + struct.pack("<Q", before),  # other: movabs rax, before
            b"\xff\xe0",  # jmp rax
        )
    )


def _address(memory: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def _set_rights(address: int, size: int, rights: int) -> None:
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    protect(address, size, rights)
