"""What can go wrong, in one place: every error is one sentence for a person, with a cure.

The command line prints `str(error)` and exits with `error.exit_code`: 2 when the user can mend
it (a bad file, an unknown plugin), 1 when a kernel failed, 130 after an interrupt. Nothing here
is ever shown as a traceback.
"""

from __future__ import annotations

import errno
import os

_NO_MEMORY = ("can't allocate memory", "out of memory", "_STATUS_ALLOC_FAILED")  # the last: of a device's libraries
_FULL = (errno.ENOSPC, errno.EDQUOT)


class AkgError(Exception):
    """Root of every error meant for a person.

    `message` says what is wrong and where; `cure` says what to do about it.
    """

    exit_code = 2

    def __init__(self, message: str, cure: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.cure = cure

    def __str__(self) -> str:
        return f"{self.message} {self.cure}".strip()


class TaskError(AkgError):
    """The reference file cannot be used: missing, without `Model`, raising, or not fitting itself."""


class OutOfMemory(TaskError):
    """Judging a task takes more memory than is free now."""


class ValuesUnknown(TaskError):
    """Forward asks for values of tensors, which are not known when it is captured."""


def is_of_memory(error: BaseException) -> bool:
    """Whether an error says that the host or a device has too little memory."""
    return isinstance(error, (MemoryError, OutOfMemory)) or says_no_memory(str(error))


def says_no_memory(text: str) -> bool:
    """Whether a message is one of PyTorch's for want of memory, on the host or on a device."""
    return any(sign in text for sign in _NO_MEMORY)


class SketchError(AkgError):
    """A sketch does not parse or does not check; `findings` holds every finding with its place."""

    def __init__(self, message: str, cure: str = "", findings: tuple = ()) -> None:
        super().__init__(message, cure)
        self.findings = findings


class DesignerFailed(SketchError):
    """The builtin designer made a sketch with a fault, which is none of its user's."""

    exit_code = 1


class UnsupportedOperator(AkgError):
    """The builtin designer has no rule for an operator of the captured graph."""


class PluginError(AkgError):
    """A plugin cannot be selected (unknown, blocked, skewed, broken) or broke the contract."""


class Unsupported(PluginError):
    """A plugin lacks the hook that a command needs."""


class ToolchainError(PluginError):
    """A plugin's compiler or device is missing on this machine."""


class UsageError(AkgError):
    """The command line was given something that it cannot take."""


class Interrupted(AkgError):
    """The user ended a command before it was done."""

    exit_code = 130


class KernelFailed(AkgError):
    """A kernel did not compile, crashed, hung, or was judged other than correct."""

    exit_code = 1


class DoesNotFit(KernelFailed):
    """Kernels need more of something than their chip has; `shortages` says which, and of what."""

    def __init__(self, message: str, cure: str = "", shortages: tuple = ()) -> None:
        super().__init__(message, cure)
        self.shortages = shortages


class WorkerFailed(AkgError):
    """A worker process crashed, hung, exited or raised where it should not have."""

    exit_code = 1


def debugging() -> bool:
    """Whether the user wants to see where something unforeseen comes from."""
    return os.environ.get("AKG_DEBUG", "") not in ("", "0")


def told(error: Exception) -> AkgError:
    """Any exception as what a person is told: what the system refuses the user can mend, the rest is ours to mend."""
    if isinstance(error, AkgError):
        return error
    if isinstance(error, OSError) and error.errno in _FULL:
        place = f" for {str(error.filename)!r}" if error.filename is not None else ""
        return UsageError(f"There is no room left on the disk{place}.", "Make room, or work on another one.")
    if isinstance(error, OSError) and error.filename is not None:
        return UsageError(f"{str(error.filename)!r} cannot be used: {error.strerror}.", "Give another place (--out).")
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    unforeseen = AkgError(f"Something unforeseen: {said}.", "AKG_DEBUG=1 shows where; please report it.")
    unforeseen.exit_code = 1
    return unforeseen
