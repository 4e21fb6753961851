"""What a job may use, and how it ended."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from akg_core import errors

Status = Literal["ok", "error", "crashed", "timed out", "exited", "flooded", "out of memory"]

MiB = 1 << 20

CHANGED_HARNESS = 86
"""The exit code of a process in which foreign code has changed ours: nothing that it would answer is worth reading."""

RAN_LIBRARY = 87
"""The exit code of a process that ran machine code of a library which had been taken from it."""

FATAL = (signal.SIGABRT, signal.SIGFPE, signal.SIGBUS, signal.SIGILL)
SIGNALLED = 128
"""What is added to the number of one of these signals in the exit code of a process that it ended."""


@dataclass(frozen=True)
class Limits:
    """The budget of one job, or of each call of a session.

    `seconds`: wall time of a call, less the time in which it was ready to run and others had the processors.
    `memory_bytes`: resident memory of all the job's processes together; 0 is 80 % of what the machine has free when it
    starts. `log_bytes`: how much it may print. `file_bytes`: the largest file it may write, and all that its private
    and writable folders may hold together; `files` how many they may hold. `processes`, `open_files`: as named.
    `threads`: what OpenMP and torch get, 0 for all cores.

    `confined` is for code that nobody has read: it may write only to its private folder and to `writable`, and has no
    privileges left; one that is `sealed` may write to nothing in /proc either, by which it could change its own code,
    and opens no device but those that everybody has (null, random numbers): drivers need both. No job has a network,
    or sees or signals a process but its own, where the system allows that; but for one that `lends` a device's memory
    to others, since drivers tell lender and borrower apart by
    process number, and in namespaces of their own all jobs have the same. Between the calls of a session that is
    `paused`, all its processes stand still: they neither work while others are timed nor touch what they have written.
    One that `gives_way` gets what others leave of the processors. One that is `timed` is so by its keeper, from
    outside.
    """

    seconds: float = 60.0
    memory_bytes: int = 0
    log_bytes: int = 16 * MiB
    file_bytes: int = 8192 * MiB
    files: int = 8192
    processes: int = 256
    open_files: int = 1024
    threads: int = 0
    confined: bool = False
    sealed: bool = False
    lends: bool = False
    paused: bool = False
    gives_way: bool = False
    timed: bool = False
    writable: tuple[Path, ...] = ()


@dataclass(frozen=True)
class JobResult:
    """How a call ended.

    `value` is what the function returned when `status` is "ok"; `error` has `type`, `message` and `cure` when it is
    "error". `reason` is one sentence for every other status. `log` is the begin and the end of what was printed.
    `signal` names the signal that ended the process, `protections` what the system allowed of the isolation.
    """

    status: Status
    value: dict[str, Any] | None = None
    error: dict[str, str] | None = None
    reason: str = ""
    log: str = ""
    signal: str = ""
    seconds: float = 0.0
    protections: tuple[str, ...] = ()

    def unwrap(self) -> dict[str, Any]:
        """The value; raises the job's own AkgError again, or WorkerFailed with the reason."""
        if self.status == "ok":
            return self.value or {}
        if self.error is not None:
            kind = getattr(errors, self.error["type"], None)
            if isinstance(kind, type) and issubclass(kind, errors.AkgError):
                raise kind(self.error["message"], self.error["cure"])
        raise errors.WorkerFailed(self.reason)


def is_harness_changed(reason: str) -> bool:
    """Whether a process that ended for this reason had its harness changed."""
    return reason.startswith(f"The process exited with code {CHANGED_HARNESS} ")


def is_library_run(reason: str) -> bool:
    """Whether a process that ended for this reason ran machine code of a library that it must not."""
    return reason.startswith(f"The process exited with code {RAN_LIBRARY} ")
