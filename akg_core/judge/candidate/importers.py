"""Whether code of a kernel imports, as it runs, what it may not, by whatever name and function.

Libraries import for themselves what they like; what stands nearest to an import, beside Python's own library, is who
asks for it, and says so by the name of its file. So code that is not a library's gets no such name. Worker side, in the
candidate's own process.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import sysconfig
from pathlib import Path
from types import FrameType
from typing import Any

from akg_core.judge.source.imports import allowed, is_there, lies_in

_PYTHON = tuple(f"{os.path.realpath(sysconfig.get_path(name))}{os.sep}" for name in ("stdlib", "platstdlib"))
_JUDGE = f"{Path(__file__).parent}{os.sep}"
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_IMPORTED = re.compile(
    r"/(?:site|dist)-packages/(?:(\w+)/(?:__pycache__/)?__init__\.|(?:__pycache__/)?(\w+)\.(?:[\w-]+\.)?pyc?$)"
)
DISGUISED = "gives code the name of a library's file"
UNREAD = frozenset({"marshal.load", "marshal.loads"})  # events of what makes code out of bytes
_CODE = frozenset(b"c\xe3")  # bytes with which code begins among those, to be referred to or not
_HEAD = 16  # bytes of a compiled file before its code
_LOADER, _READ = "<frozen importlib._bootstrap_external>", ("bytecode_path", "path")  # its variables with a file's name
_COMPILED = (f"{os.path.realpath(sys.pycache_prefix)}{os.sep}",) if sys.pycache_prefix else ()
_language: list[tuple[str, ...]] = []
_own: list[str] = []  # folders of all kernels that were run in this process


def set_kernel(modules: tuple[str, ...], folder: Path) -> None:
    """Tell by which packages the kernels of this process import their language, and where the files of one lie."""
    _language[:] = [modules]
    _own.append(f"{os.path.realpath(folder)}{os.sep}")


def package_of(file: str) -> str:
    """The package that is imported where this file is opened, whoever does so; "" when none is."""
    found = _IMPORTED.search(file)
    return (found[1] or found[2]) if found else ""


class Importers:
    """Who may import what, as it is when this is made: before any code of a kernel is loaded.

    `reference`: the task's file, which may import what it names. Without a word on the language, all is allowed.
    """

    def __init__(self, reference: Path | None) -> None:
        text = ""
        with contextlib.suppress(OSError, UnicodeDecodeError):
            text = reference.read_text(encoding="utf-8") if reference else ""
        known = allowed(_language[0], text) | sys.stdlib_module_names if _language else None
        named = [Path(path) for path in sys.path if path]
        roots = {root for path in named for root in (path.absolute(), path.resolve())}
        self._known, self._roots = known, tuple(f"{root}{os.sep}" for root in roots if root.is_dir())

    def refused(self, name: str, *, is_installed: bool = False) -> bool:
        """Whether what asks for a module, just now, is neither a library nor free to have it.

        `is_installed`: the module's file is being opened, so that none of the kernel's own is meant.
        """
        package = name.partition(".")[0]
        if not package or self._known is None or package in self._known:
            return False
        frame = _asking(sys._getframe(1))
        named = frame.f_code.co_filename if frame else ""
        file = named if Path(named).is_absolute() else ""
        if self._is_library(file) or (not is_installed and _lies_beside(package, file)):
            return False
        return is_there(package)

    def disguised(self, event: str, arguments: tuple[Any, ...]) -> str:
        """What is wrong with code that is being made just now at the wish of who is no library: it goes by the name of
        a library's file and is not what that says, or nobody has read it as text; "" if nothing is. Arguments are those
        of the audit event."""
        made = arguments[0] if arguments else b""
        if event in UNREAD:
            named, is_honest = "", event == "marshal.loads" and (_CODE.isdisjoint(made) or self._is_read(made))
        else:
            named = os.fsdecode(arguments[1]) if len(arguments) > 1 and arguments[1] else ""
            is_honest = not self._is_library(named) or (event == "compile" and _lies_in_file(made, named))
        frame = None if is_honest else _asking(sys._getframe(1))
        if is_honest or (frame and self._is_library(frame.f_code.co_filename)):
            return ""
        return f"{DISGUISED}: {package_of(named) or named}" if named else f"runs code that is no text: {event}"

    def is_compiled(self, file: Any) -> bool:
        """Whether this is a compiled file of a kernel's own, beside which lies the text that is read and run."""
        name = os.fsdecode(file) if isinstance(file, (str, bytes)) else ""
        return name.endswith(".pyc") and os.path.realpath(name).startswith(tuple(_own))

    def _is_read(self, code: bytes) -> bool:
        """Whether this is what the loader of modules has read of a library's compiled file."""
        frame: FrameType | None = sys._getframe(1)
        while frame:
            known = frame.f_locals if frame.f_code.co_filename == _LOADER else {}
            for file in map(known.get, _READ):
                if isinstance(file, str) and (self._is_library(file) or file.startswith(_COMPILED)):
                    return _content(file)[_HEAD:] == code
            frame = frame.f_back
        return False

    def _is_library(self, file: str) -> bool:
        """Whether a file is one of those that were installed, wherever the kernel's own lie."""
        return file.startswith(self._roots) and not os.path.realpath(file).startswith(tuple(_own))


def _asking(frame: FrameType | None) -> FrameType | None:
    """The nearest frame that is neither of Python's own library nor of this judge."""
    while frame:
        file = frame.f_code.co_filename
        is_python = file.startswith(_PYTHON) and not any(part in file for part in _PACKAGES)
        if file.startswith("<frozen ") or is_python or file.startswith(_JUDGE):
            frame = frame.f_back
            continue
        return frame
    return None


def _lies_in_file(text: Any, file: str) -> bool:
    """Whether a file says this: it is imported, or a line of it is shown, which Python parses for that."""
    said = text.encode() if isinstance(text, str) else text
    return isinstance(said, bytes) and said.strip(b"() \n") in _content(file)


def _content(file: str) -> bytes:
    with contextlib.suppress(OSError, ValueError):
        return Path(file).read_bytes()
    return b""


def _lies_beside(package: str, file: str) -> bool:
    """Whether a kernel's file, or one of a package of it, asks for another of its own."""
    folders = list(Path(file).parents)[:4] if file else []
    return any(lies_in(folder, package) for folder in folders)
