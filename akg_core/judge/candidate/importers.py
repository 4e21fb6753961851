"""Whether code of a kernel imports, as it runs, what it may not, by whatever name and function.

Libraries import for themselves what they like; what stands nearest to an import, beside Python's own library, is who
asks for it. Worker side, in the candidate's own process.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import sysconfig
from pathlib import Path
from types import FrameType

from akg_core.judge.source.imports import allowed, is_there, lies_in

_PYTHON = tuple(f"{os.path.realpath(sysconfig.get_path(name))}{os.sep}" for name in ("stdlib", "platstdlib"))
_JUDGE = f"{Path(__file__).parent}{os.sep}"
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_IMPORTED = re.compile(
    r"/(?:site|dist)-packages/(?:(\w+)/(?:__pycache__/)?__init__\.|(?:__pycache__/)?(\w+)\.(?:[\w-]+\.)?pyc?$)"
)
_language: list[tuple[str, ...]] = []


def set_language(modules: tuple[str, ...]) -> None:
    """Tell by which packages the kernels of this process import their language."""
    _language[:] = [modules]


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
        if file.startswith(self._roots) or (not is_installed and _lies_beside(package, file)):
            return False
        return is_there(package)


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


def _lies_beside(package: str, file: str) -> bool:
    """Whether a kernel's file, or one of a package of it, asks for another of its own."""
    folders = list(Path(file).parents)[:4] if file else []
    return any(lies_in(folder, package) for folder in folders)
