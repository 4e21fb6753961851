"""The steps by which a process that judges a kernel gives away what the kernel's code must not have.

Before any of that code is loaded: processes, unless its language compiles. Before any of it runs, where it is machine
code whose files are known, else when it has been constructed: memory that can be made executable, and all system calls
but those that computing takes. When it has been constructed, since a constructor may use the library: the machine code
of libraries that computes.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sysconfig
from collections.abc import Callable
from pathlib import Path

from akg_core.device import HOST, Device
from akg_core.judge.candidate import guard
from akg_core.judge.source import machine_code, native
from akg_core.judge.source.native import MachineCode
from akg_core.task.source.load import load_source
from akg_core.worker import faults, seccomp

_FOUND = "machine code that finds a library in memory by itself"
_UNWATCHED = "copies by the library in threads of the kernel's own"
_closed = False
_UNUSED = re.compile(r"_?(test|xx|tk|curses|ctypes_test|readline|g?dbm|crypt|nis|ossaudiodev|spwd|audioop)")


def before_loading(reference: Path | None, code: MachineCode | None, jit: bool) -> Callable[[], None]:
    """Take what a kernel needs not even to be loaded; what is returned runs the constructors of its machine code.

    What the reference's file imports is imported first. Raises ForbiddenCode for machine code that asks for too much.
    """
    if jit or _closed:  # a kernel that did not load is asked again
        return lambda: None
    guard.forbid_processes()
    seccomp.forbid_processes()
    if code is None:
        return lambda: None
    if reference:
        with contextlib.suppress(Exception):  # what is wrong with it is told where it counts
            load_source(reference.read_text(), "reference")
    construct = native.load(code)
    close()
    return construct


def after_construction(device: Device, code: MachineCode | None, jit: bool) -> tuple[str, ...]:
    """Take what a constructor may have needed, on the host, where the kernel's language does not compile any more.

    What is given says what all this does not exclude.
    """
    if jit or device is not HOST:
        return (_FOUND, *(() if guard.tells_of_copies() else (_UNWATCHED,)))
    closed = _closed if code else close()
    left = [] if code else ["machine code that runs while a kernel is constructed"]
    if not machine_code.take_away(algebra=code is not None) or not closed or _writes_code():
        left.append(_FOUND)
    return tuple(left)


def close() -> bool:
    """Let no memory become executable any more, and no system call pass but those that computing takes.

    Says whether the system took that.
    """
    global _closed
    with guard.Guard(0):
        pass  # which has imported what it needs by then
    faults.answer()
    _closed = seccomp.confine_machine_code()
    if _closed:
        faults.forbid_written_code()
    return _closed


def _writes_code() -> bool:
    """Whether this process can write to memory that is protected, by the file that shows it."""
    try:
        os.close(os.open("/proc/self/mem", os.O_RDWR))
    except OSError:
        return False
    return True


def _import_extensions() -> None:
    """Import what of Python's own modules is machine code: it could not be loaded later."""
    for path in Path(sysconfig.get_config_var("DESTSHARED") or "").glob("*.so"):
        name = path.name.partition(".")[0]
        if not _UNUSED.match(name):
            with contextlib.suppress(ImportError):
                importlib.import_module(name)


_import_extensions()
native.prepare()  # as the module is imported, which a warm parent does once for all
