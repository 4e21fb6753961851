"""What the kernel does for us: namespaces, mounts, resource limits and privileges, through the C library.

Every function asks for as much as it can get and says what it got; a machine that allows nothing (a
container without user namespaces) still has process groups, rlimits and the orchestrator's own watch.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import signal
import struct
from collections.abc import Iterable
from pathlib import Path

from akg_core.worker import usage

_libc = ctypes.CDLL(None, use_errno=True)

_NEWNS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = 0x20000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
_MS_NOSUID, _MS_NODEV, _MS_BIND, _MS_REC, _MS_PRIVATE = 0x2, 0x4, 0x1000, 0x4000, 0x40000
_PDEATHSIG, _DUMPABLE, _SUBREAPER, _NO_NEW_PRIVS = 1, 4, 36, 38
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE, _READ_ONLY, _NO_DEVICES = 442, -100, 0x8000, 1, 4
_HARMLESS = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom"))  # devices
_CAPABILITIES_V3 = 0x20080522
_TEAMS = 3  # of threads for all cores: the main thread's, that of a thread which calls a kernel, and that of one before
_LARGE_STACK = 64 << 20  # bytes; what a thread gets where stacks are not limited is less
_given_up: list[str] = []  # what this process, or one that it was forked from, can no longer do
_MACHINE_WIDE = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi")


def _check(result: int) -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def fork() -> int:
    """Like os.fork, of a process with one thread; the kernel kills the child when this process ends, at any moment.

    One that ends before the child could ask the kernel for that has closed its end of a pipe by then, for nobody else
    holds it. It is kept until the child has asked.
    """
    ours, theirs = os.pipe()
    child = os.fork()
    if child:
        os.close(ours)
        _events(theirs, None)  # an error: nobody could read any more
        os.close(theirs)
        return child
    os.close(theirs)
    _libc.prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if _events(ours, 0):
        os._exit(0)
    os.close(ours)
    return 0


def _events(end: int, milliseconds: int | None) -> list[tuple[int, int]]:
    """What becomes of the other end of a pipe in so much time; None waits."""
    poll = select.poll()
    poll.register(end, 0)
    return poll.poll(milliseconds)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _libc.prctl(_SUBREAPER, 1, 0, 0, 0)


def hide_memory() -> None:
    """Keep other processes of this user from reading this one's memory and files through /proc."""
    _libc.prctl(_DUMPABLE, 0, 0, 0, 0)


def enter_namespaces(own_user: bool) -> bool:
    """Leave the network and the sight of other processes; the next child is the first of a process namespace.

    Ending that child ends everything it ever started. With `own_user` a user namespace comes first, so that
    no privilege reaches out; without, it is only tried when privilege is lacking. Says whether it worked.
    """
    apart = _NEWNS | _NEWIPC | _NEWPID | _NEWNET
    user, group = os.geteuid(), os.getegid()
    for flags in sorted((apart, apart | _NEWUSER), reverse=own_user):
        if _libc.unshare(flags) == 0:
            maps = {"setgroups": "deny", "uid_map": f"{user} {user} 1", "gid_map": f"{group} {group} 1"}
            for name, text in maps.items() if flags & _NEWUSER else ():
                with contextlib.suppress(OSError):
                    Path("/proc/self", name).write_text(text)
            with contextlib.suppress(OSError):
                _mount("none", "/", "", _MS_REC | _MS_PRIVATE)
            return True
    return False


def mount_own_proc() -> bool:
    """Replace /proc by that of this process namespace. Containers may refuse; then it shows others, out of reach."""
    with contextlib.suppress(OSError):
        _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV)
        return True
    return False


def write_only_to(
    private: Path, writable: Iterable[Path], size: int, files: int, own_proc: bool = False, is_open: bool = False
) -> bool:
    """Make all files read-only but `writable`, `private` and shared memory; the last two get `size` bytes of memory,
    and room for so many `files`. No device can be opened any more but those that everybody has.

    With `is_open` devices can, and what processes have in a /proc of their own (`own_proc`) stays writable: drivers
    name their threads there, and others could change their own code by it, whatever the protection of its pages is.
    """
    open_to = [str(path.resolve()) for path in writable]
    harmless = [] if is_open else [path for path in _HARMLESS if os.path.exists(path)]  # noqa: PTH110
    try:
        for path in (*open_to, *harmless, *(_MACHINE_WIDE if own_proc else ())):
            if os.path.exists(path):  # noqa: PTH110
                _mount(path, path, "", _MS_BIND | _MS_REC)
        for path in (str(private), "/dev/shm"):
            if os.path.isdir(path):  # noqa: PTH112
                _mount("tmpfs", path, "tmpfs", _MS_NOSUID | _MS_NODEV, f"size={size},nr_inodes={files + 1}")
                open_to.append(path)
        _set("/", (_READ_ONLY if is_open else _READ_ONLY | _NO_DEVICES), 0, recursive=True)
        for path in (*open_to, *(("/proc",) if own_proc and is_open else ())):
            _set(path, 0, _READ_ONLY)
        for path in harmless:
            _set(path, 0, _NO_DEVICES)
    except OSError:
        return False
    finally:
        os.chdir(private)
    return True


def drop_privileges() -> None:
    """Give up every capability, for this process and all that it will start."""
    header = struct.pack("=Ii", _CAPABILITIES_V3, 0)
    _libc.capset(header, bytes(24))
    _libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    _given_up.append("privileges")


def is_confined() -> bool:
    """Whether this process is one for code that nobody has read."""
    return bool(_given_up)


def limit_resources(memory_bytes: int, file_bytes: int, open_files: int) -> None:
    """Set what the kernel itself enforces: private memory, files, no core dumps.

    Private memory gets slack for what stays untouched, above all the stacks of threads, of which a kernel has one for
    each core, and another where a second thread calls it. The resident memory is watched from outside. Should the
    machine run out first, this process is the one to go.
    """
    stack, _ = resource.getrlimit(resource.RLIMIT_STACK)
    slack = (1 << 30) + _TEAMS * usage.cores() * (stack if 0 < stack < _LARGE_STACK else _LARGE_STACK)
    wanted = {
        resource.RLIMIT_DATA: memory_bytes + slack,
        resource.RLIMIT_FSIZE: file_bytes,
        resource.RLIMIT_NOFILE: open_files,
        resource.RLIMIT_CORE: 0,
    }
    for kind, value in wanted.items():
        _, hard = resource.getrlimit(kind)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    texts = [text.encode() or None for text in (source, target, kind, options)]
    _check(_libc.mount(*texts[:3], ctypes.c_ulong(flags), texts[3]))


def _set(path: str, add: int, clear: int, *, recursive: bool = False) -> None:
    """Give attributes to what is mounted at a path, and take others from it."""
    attributes = struct.pack("=QQQQ", add, clear, 0, 0)
    below = _AT_RECURSIVE if recursive else 0
    _check(_libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, path.encode(), below, attributes, len(attributes)))
