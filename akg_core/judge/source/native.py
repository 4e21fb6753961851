"""Machine code of a kernel: read before it is loaded, and loaded such that nothing of it runs before it is confined.

Loading a library makes memory executable, and then calls functions of it, its constructors, which may do what they
like. Here these come apart: a copy of the file in which no constructor is named is loaded, the process is confined,
and then its constructors are called. Whoever opens the library by its own name afterwards gets what is loaded.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from akg_core.judge.source.native_names import RUN_TIME, SYSTEM, SYSTEM_NAMES
from akg_core.worker.elf import Elf, ElfError

_NAME_AT = 8  # of the loader's record of a library (struct link_map): the base address, then a pointer to its name
_USUAL = ("libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libgomp.so.1")
_kept: list[object] = []


@dataclass(frozen=True)
class MachineCode:
    """The shared libraries of a kernel: its own, and `bindings` of the plugin's, which Python calls them through."""

    kernels: tuple[Path, ...]
    bindings: tuple[Path, ...] = ()


class ForbiddenCode(Exception):
    """A kernel's machine code asks for what no kernel may have; the message is the rule that it breaks."""


def require_allowed(path: Path) -> None:
    """Raises ForbiddenCode for a library that asks the loader for more than kernels need; ElfError, OSError."""
    library = Elf(path)
    for name in library.needed:
        if not RUN_TIME.match(name) and not SYSTEM.match(name):
            raise ForbiddenCode(f"uses another library: {path.name} is linked with {name}")
    for name in library.oddities():
        raise ForbiddenCode(f"is no plain library: {path.name}, {name}")
    allowed = [_exported(needed) for needed in library.needed if RUN_TIME.match(needed)]
    for name in library.undefined():
        if not any(name in names for names in allowed) and not SYSTEM_NAMES.match(name):
            raise ForbiddenCode(f"uses another library: {path.name} calls {name}")


def prepare() -> None:
    """Find out, in a warm parent, what libraries have that kernels are usually linked with."""
    for name in _USUAL:
        _exported(name)


def load(code: MachineCode) -> Callable[[], None]:
    """Load a kernel's libraries; what is returned calls their constructors. Raises ForbiddenCode, ElfError, OSError."""
    for path in code.kernels:
        require_allowed(path)
    waiting = [call for path in (*code.bindings, *code.kernels) for call in _loaded(path.resolve())]

    def construct() -> None:
        for call in waiting:
            call()

    return construct


def _loaded(path: Path) -> Iterator[Callable[[], object]]:
    """Load one library under its own name, and give what it wanted to run."""
    library = Elf(path)
    first, others = library.constructors()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(library.without_constructors())
        loaded = ctypes.CDLL(str(copy), mode=os.RTLD_NOW | os.RTLD_LOCAL)
    name = ctypes.create_string_buffer(os.fsencode(path))
    record = loaded._handle
    base = ctypes.c_size_t.from_address(record).value
    ctypes.c_void_p.from_address(record + _NAME_AT).value = ctypes.addressof(name)
    _kept.extend((loaded, name))
    if ctypes.CDLL(str(path))._handle != record:  # a loader that goes by other things: it has run them
        return
    begin = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    nothing = ctypes.c_void_p()
    _kept.append(nothing)
    functions = [base + first] if first else []
    functions += [ctypes.c_size_t.from_address(base + at).value for at in others]
    for function in functions:
        if function not in (0, ctypes.c_size_t(-1).value):
            yield functools.partial(begin(function), 0, ctypes.addressof(nothing), _environment())


def _environment() -> int | None:
    return ctypes.c_void_p.in_dll(ctypes.CDLL(None), "environ").value


@functools.cache
def _exported(name: str) -> frozenset[str]:
    """The names that a library of the system has for others."""
    with contextlib.suppress(OSError, ElfError):
        ctypes.CDLL(name)
        for line in Path("/proc/self/maps").read_text().splitlines():
            path = line.split(maxsplit=5)[5:]
            if path and Path(path[0]).name.startswith(name.partition(".so")[0] + ".so"):
                return frozenset(Elf(Path(path[0])).exported())
    return frozenset()
