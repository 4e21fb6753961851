"""System-call filters for confined workers.

One refuses what reaches beyond the worker past its namespaces, or where these are not to be had (most containers): it
traces nobody, opens no sockets but those between processes, keeps nothing with the kernel for a later process, and
makes no memory whose content comes when it is read. Without namespaces it may also signal only itself and its own
group, and say on which processors and how urgently only its own first thread runs. Another forbids to start processes
and programs. The last one is for machine code that is loaded: it lets pass what `akg_core.worker.system_calls` lists
alone, and makes no memory executable. Classic BPF, built here so that nothing else need be installed; see seccomp(2).
Other architectures than these two go without.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import platform
import struct
from collections.abc import Iterator
from typing import Any

from akg_core.worker.system_calls import ALLOWED

_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_JMP|JSET|K, BPF_RET|K
_ALLOW, _REFUSE, _UNKNOWN, _KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS, 0x80000000
_NUMBER, _ARCHITECTURE, _ARGUMENT, _SECOND, _THIRD = (
    0,
    4,
    16,
    24,
    32,
)  # offsets in struct seccomp_data; low halves of arguments
_AF_UNIX = 1
_FILTER_MODE, _SECCOMP, _NO_NEW_PRIVS, _GET_NO_NEW_PRIVS = 2, 22, 38, 39
_SET_FILTER, _ALL_THREADS = 1, 1  # of seccomp(2)

# audit architecture, then numbers of: (kill, tkill, tgkill, and sched_setaffinity, sched_setparam, sched_setscheduler,
# sched_setattr, migrate_pages, move_pages), socket, prlimit64, and what is refused always:
# (pidfd_send_signal, ptrace, process_vm_readv, process_vm_writev, rt_sigqueueinfo, rt_tgsigqueueinfo, setpriority,
# kcmp, bpf, userfaultfd, add_key, request_key, keyctl), and what has one number everywhere: io_uring_setup, which
# opens sockets too, pidfd_getfd, process_madvise
_EVERYWHERE = (425, 438, 440)
_MACHINES = {
    "x86_64": (
        *(0xC000003E, (62, 200, 234, 203, 142, 144, 314, 256, 279), 41, 302),
        (424, 101, 310, 311, 129, 297, 141, 312, 321, 323, 248, 249, 250, *_EVERYWHERE),
    ),
    "aarch64": (
        *(0xC00000B7, (129, 130, 131, 122, 118, 119, 274, 238, 239), 198, 261),
        (424, 117, 270, 271, 138, 240, 140, 272, 280, 282, 217, 218, 219, *_EVERYWHERE),
    ),
}
# audit architecture, then numbers of: seccomp, clone, other ways to start a process or a program (fork, vfork, execve,
# execveat), and flock, by which who only reads a file holds up whoever else asks for it
_FORKING = {
    "x86_64": (0xC000003E, 317, 56, (57, 58, 59, 322, 73)),
    "aarch64": (0xC00000B7, 277, 220, (221, 281, 32)),
}
# numbers of what sets the protection of memory by its third argument: mmap, mprotect, pkey_mprotect; prctl; and fcntl
_PROTECTING = {"x86_64": ((9, 10, 329), 157, 72), "aarch64": ((222, 226, 288), 167, 25)}
_EXECUTABLE = 4
_NAMING = (15, 16, 0x53564D41, _GET_NO_NEW_PRIVS)  # of prctl: PR_SET_NAME, PR_GET_NAME, PR_SET_VMA
_HANDLING = (*range(8), 36, 37, 38, 1030, 1031, 1032)  # of fcntl: copies, flags, locks; none that has signals sent
_CLONE3, _CLONE_THREAD = 435, 0x10000
_X32_BIT = 0x40000000  # the second set of numbers on x86_64


def install(process: int, alone: bool) -> bool:
    """Filter this process, whose number is `process`, and all that it will start. Says whether the system took it.

    `alone`: others have no numbers here, so that it may name which it likes.
    """
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    with _loadable(_program(process, alone, *machine)) as program:
        return libc.prctl(_SECCOMP, _FILTER_MODE, program, 0, 0) == 0


@functools.cache
def forbid_processes() -> bool:
    """Let no thread of this process, which must be confined, start a process, become another program or lock a file.

    Says whether the system took it.
    """
    if platform.machine() not in _FORKING:
        return False
    _, _, clone, starts = _FORKING[platform.machine()]
    refuse, allow = _step(_RETURN, _REFUSE), _step(_RETURN, _ALLOW)
    return _filter_all_threads(
        [
            *_when(starts, [refuse]),
            *_when((_CLONE3,), [_step(_RETURN, _UNKNOWN)]),  # its flags are out of sight; the C library then uses clone
            *_when((clone,), [_step(_LOAD, _ARGUMENT), _step(_ANY_BIT, _CLONE_THREAD, 1, 0), refuse, allow]),
            allow,
        ]
    )


@functools.cache
def confine_machine_code() -> bool:
    """Let all threads of this process, which must be confined, make no more memory executable, and make such system
    calls only as code that is loaded needs to compute, to print, and to read and write files. Says whether the system
    took it.
    """
    machine = platform.machine()
    if machine not in _PROTECTING or not forbid_processes():
        return False
    protecting, naming, handling = _PROTECTING[machine]
    refuse, allow = _step(_RETURN, _REFUSE), _step(_RETURN, _ALLOW)
    return _filter_all_threads(
        [
            *_when(protecting, [_step(_LOAD, _THIRD), _step(_ANY_BIT, _EXECUTABLE, 0, 1), refuse, allow]),
            *_when((naming,), [_step(_LOAD, _ARGUMENT), *_when(_NAMING, [allow]), refuse]),
            *_when((handling,), [_step(_LOAD, _SECOND), *_when(_HANDLING, [allow]), refuse]),
            *(step for number in ALLOWED[machine] for step in _when((number,), [allow])),
            *_when((_CLONE3,), [_step(_RETURN, _UNKNOWN)]),
            refuse,
        ]
    )


def _filter_all_threads(steps: list[bytes]) -> bool:
    """Filter every thread of this process, if it can gain no privileges, by `steps`, which begin with the number."""
    architecture, seccomp, _, _ = _FORKING[platform.machine()]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1:
        return False
    begin = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUAL, architecture, 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
        _step(0x35, _X32_BIT, 0, 1),  # BPF_JMP|JGE|K
        _step(_RETURN, _REFUSE),
    ]
    with _loadable([*begin, *steps]) as program:
        return libc.syscall(seccomp, _SET_FILTER, _ALL_THREADS, program) == 0


@contextlib.contextmanager
def _loadable(steps: list[bytes]) -> Iterator[Any]:
    """A program as the system takes it, a pointer that holds inside."""
    code = b"".join(steps)
    buffer = ctypes.create_string_buffer(code, len(code))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    program = Program(len(code) // 8, ctypes.addressof(buffer))
    yield ctypes.byref(program)


def _program(
    process: int,
    alone: bool,
    architecture: int,
    naming: tuple[int, ...],
    socket: int,
    limits: int,
    refused: tuple[int, ...],
) -> list[bytes]:
    refuse, allow = _step(_RETURN, _REFUSE), _step(_RETURN, _ALLOW)
    own = (process, 0)  # itself, and 0: its own group, which it leads, or itself once more

    def only(calls: tuple[int, ...], firsts: tuple[int, ...]) -> list[bytes]:
        """Allow calls with these first arguments alone."""
        return _when(calls, [_step(_LOAD, _ARGUMENT), *_when(firsts, [allow]), refuse])

    return [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUAL, architecture, 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER),
        _step(0x35, _X32_BIT, 0, 1),  # BPF_JMP|JGE|K
        refuse,
        *_when(refused, [refuse]),
        *(() if alone else only(naming, own)),
        *only((limits,), own),
        *only((socket,), (_AF_UNIX,)),
        allow,
    ]


def _when(values: tuple[int, ...], then: list[bytes]) -> list[bytes]:
    """Run `then`, which must return, when what is loaded is one of `values`; else step over it."""
    tests = [_step(_EQUAL, value, len(values) - 1 - index, 0) for index, value in enumerate(values[:-1])]
    return [*tests, _step(_EQUAL, values[-1], 0, len(then)), *then]


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
