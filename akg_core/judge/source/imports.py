"""What a kernel may import: its own files, torch, its language, what the task's file imports, and of Python's library
what computes nothing on tensors. That the harness, in `akg_core`, is as it was is looked after otherwise.

Of numpy it may have what describes memory (`akg_core.judge.source.rules`). What some of these modules reach beyond the
process, its confinement refuses.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from akg_core.python_text import module_of

_STANDARD = """
    __future__ _ctypes _thread abc array ast asyncio atexit base64 binascii bisect builtins cmath codecs collections
    concurrent contextlib contextvars copy copyreg ctypes dataclasses datetime decimal dis enum errno faulthandler fcntl
    fractions functools gc getpass glob hashlib heapq hmac importlib inspect io itertools json keyword linecache locale
    logging marshal math mmap multiprocessing numbers operator os pathlib pickle pkgutil platform pprint queue random re
    resource runpy secrets select selectors shlex shutil signal site socket stat statistics string struct subprocess sys
    sysconfig tempfile textwrap threading time timeit token tokenize traceback types typing unicodedata uuid warnings
    weakref zlib
    """
_ALWAYS = frozenset(_STANDARD.split()) | {"torch", "numpy", "reference", "typing_extensions", "akg_core"}
_SUFFIXES = tuple(importlib.machinery.all_suffixes())


def allowed(modules: Iterable[str], reference: str = "") -> frozenset[str]:
    """The packages that a kernel may import beside its own files; `modules`: those of its language."""
    return _ALWAYS | frozenset(modules) | frozenset(_of_text(reference))


def is_there(package: str) -> bool:
    """Whether this Python has such a package: what is nowhere is no library, and importing it says so."""
    with contextlib.suppress(ImportError, ValueError):
        return package in sys.modules or importlib.util.find_spec(package) is not None
    return False


def lies_in(folder: Path, package: str) -> bool:
    """Whether Python finds a module or a regular package of this name in a folder, before one that is installed.

    A folder without `__init__`, or a file of another kind, hides no package that is installed.
    """
    names = [f"{package}{suffix}" for suffix in _SUFFIXES] + [f"{package}/__init__{suffix}" for suffix in _SUFFIXES]
    return any((folder / name).is_file() for name in names)


def imported(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Each package that some nodes import by its name, with the line."""
    for node in nodes:
        match node:
            case ast.Import():
                yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
            case ast.ImportFrom(level=0, module=str(module)):
                yield node.lineno, module.partition(".")[0]


def _of_text(text: str) -> Iterator[str]:
    try:
        tree = module_of(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    yield from (name for _, name in imported(ast.walk(tree)))
