"""Jobs for confined workers: what is left of the library, and how processes end, when machine code is confined."""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import threading
from pathlib import Path
from typing import Any

import torch

from akg_core.judge.candidate import confinement
from akg_core.judge.source import machine_code
from akg_core.worker import seccomp

DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int16,
    torch.uint8,
    torch.bool,
]


def _confine() -> None:
    confinement.close()
    assert seccomp.confine_machine_code()
    assert machine_code.take_away(algebra=True)


def copies(payload: dict[str, Any]) -> dict[str, Any]:
    """Allocate, view, copy, fill and compare in all dtypes, raise errors, and profile."""
    _confine()
    for dtype, size, count in itertools.product(DTYPES, (3, 300), (1, 2)):
        torch.set_num_threads(count)
        x = torch.empty(size, size, dtype=dtype).fill_(1)
        y = x.clone()
        y.copy_(x.t())
        assert y.equal(x) and x.t().contiguous().equal(x) and x[::2, 1:].clone().equal(y[::2, 1:])
        assert x[0, 0].item() == 1 and x.zero_().view(-1)[:2].tolist() == [0, 0]
        torch.full((3,), 1, dtype=dtype).expand(4, 3).contiguous()
        x.resize_(5)
    for one, other in itertools.product(DTYPES, DTYPES):
        torch.zeros(40, 5, dtype=one).t().to(other)
    refused = 0
    for action in (lambda: torch.empty(3).view(2, 2), lambda: torch.empty(3)[5], lambda: torch.empty(1 << 55)):
        try:
            action()
        except (RuntimeError, IndexError):
            refused += 1
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        torch.empty(9).clone()
    return {"refused": refused, "seen": [event.name for event in profiler.events()]}


def end(payload: dict[str, Any]) -> dict[str, Any]:
    """End as `how` says."""
    _confine()
    match payload["how"]:
        case "abort":
            os.abort()
        case "abort of a thread":
            os.write(2, b"It has no memory.\n")
            thread = threading.Thread(target=os.abort)
            thread.start()
            thread.join()
        case "exit":
            os.write(2, b"It has no thread.\n")
            ctypes.CDLL(None).exit(3)
        case "no address":
            ctypes.c_int.from_address(0).value = 1
        case "product":
            torch.ones(9, 9) @ torch.ones(9, 9)
    return {}


def refusals(payload: dict[str, Any]) -> dict[str, Any]:
    """What a confined process may not do, by the names of those that it could."""
    _confine()
    libc = ctypes.CDLL(None, use_errno=True)
    every = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    address = ctypes.addressof(ctypes.c_char.from_buffer(mmap.mmap(-1, 4096)))
    page = ctypes.c_void_p(address & -4096)
    results = {
        "mprotect": libc.mprotect(page, ctypes.c_size_t(4096), every),
        "clone": libc.syscall(56, 17, 0, 0, 0, 0),
        "execve": libc.execve(b"/bin/true", None, None),
        "signal": 0 if libc.signal(10, None) == 0 else -1,
        "setitimer": libc.setitimer(0, bytes(32), None),
        "memfd_create": libc.memfd_create(b"name", 0),
        "personality": libc.personality(0x0400000),
        "shmget": libc.shmget(0, 4096, 0o1600),
        "unshare": libc.unshare(0),
        "a call that there is not yet": libc.syscall(600),
    }
    written = [line for line in Path("/proc/self/maps").read_text().splitlines() if " rwx" in line[:60]]
    return {"could": [name for name, result in results.items() if result >= 0], "written": written}
