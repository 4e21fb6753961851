"""Which files of a folder are a kernel's: the entry file, and what that loads from the folder, however it does so.

What else lies there, scripts that were never meant for the kernel, is nobody's business.
"""

from __future__ import annotations

import ast
import contextlib
import io
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from akg_core.python_text import module_of

_BUILTINS = frozenset({"exec", "eval", "compile", "__import__"})
_FUNCTIONS = frozenset(
    {"import_module", "run_path", "run_module", "spec_from_file_location", "SourceFileLoader", "SourcelessFileLoader"}
)
"""Names of what runs text or files that are given to it, builtin and of modules."""
_MOST_BYTES = 4 << 20  # of a file of text: a network of 200 layers that all differ takes more than one
_MOST_PARTS = 64  # of a text that is a sum
_NOTED = 200  # characters of a text that may be a file's name


Nodes = Sequence[ast.AST]
"""All nodes of a tree, as `ast.walk` gives them: a call stands before what it calls."""


class TooMuchText(Exception):
    """A Python file of a kernel has more text than anybody reads; the message says which."""


def own_files(folder: Path, entry: str) -> Iterator[tuple[Path, str, Nodes]]:
    """The files that belong to the kernel whose entry file is given: path, text, and what was parsed.

    A file belongs when one that belongs imports it or says its name, as importlib, runpy or exec are told. Where one
    runs text under a name that it makes up, every Python file may be meant. What does not parse is left out: running it
    fails. Raises TooMuchText.
    """
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    waiting, seen = [entry], {entry}
    while waiting:
        name = waiting.pop(0)
        path = files.get(name)
        if path is None:
            continue
        for text, nodes in _readings(path):
            yield path, text, nodes
            for other in _loaded(nodes, PurePosixPath(name), files):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)


def joined(node: ast.AST) -> str:
    """The text that a sum of strings is; "" when it is something else, or has more parts than any name."""
    waiting, parts = [node], list[str]()
    while waiting and len(parts) < _MOST_PARTS:
        match waiting.pop():
            case ast.Constant(value=str(text)):
                parts.append(text)
            case ast.BinOp(op=ast.Add(), left=left, right=right):
                waiting += (right, left)
            case _:
                return ""
    return "" if waiting else "".join(parts)


def _readings(path: Path) -> Iterator[tuple[str, Nodes]]:
    """What a file says, and its nodes: as UTF-8, and in the encoding it declares, where Python reads it in that."""
    known = {""}
    with contextlib.suppress(OSError):
        said = _content(path)
        for decoded in (_as_utf8, _as_declared):
            with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
                text = decoded(said, path.suffix == ".py")
                if text not in known:
                    known.add(text)
                    yield text, (*ast.walk(module_of(text)),)


def _content(path: Path) -> bytes:
    """As many bytes as the system says that a file has: what has none, and gives some or waits, is no file of text.

    Raises TooMuchText for a Python file that is too large.
    """
    size = path.stat().st_size
    if size > _MOST_BYTES:
        if path.suffix == ".py":
            raise TooMuchText(f"{path.name} has {size:,} bytes")
        return b""
    with path.open("rb") as file:
        return file.read(size)


def _as_utf8(said: bytes, is_python: bool) -> str:
    return said.decode("utf-8-sig", errors="replace" if is_python else "strict")


def _as_declared(said: bytes, is_python: bool) -> str:
    """As an import decodes it; "" for what is not imported."""
    if not is_python:
        return ""
    return said.decode(tokenize.detect_encoding(io.BytesIO(said).readline)[0])


def _loaded(nodes: Nodes, name: PurePosixPath, files: dict[str, Path]) -> Iterator[str]:
    """Names of the files that a file may load, in the order in which it speaks of them."""
    runs = _runs(nodes)
    last = {PurePosixPath(other).name for other in files}
    first = {PurePosixPath(other).parts[0].removesuffix(".py") for other in files}
    for node in nodes:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield from _of_module(PurePosixPath(), alias.name, files)
            case ast.ImportFrom(module=module, names=names, level=level):
                package = PurePosixPath(*name.parts[: -level or None]) if level else PurePosixPath()
                for alias in names:
                    yield from _of_module(package, ".".join(part for part in (module, alias.name) if part), files)
            case ast.Constant() | ast.BinOp() if text := joined(node)[:_NOTED]:
                if "/" in text or text in last or text.strip(".").partition(".")[0] in first:
                    yield from _of_text(text, runs is not None, files)
    if runs == "":
        yield from (other for other in files if other.endswith(".py"))


def _of_module(package: PurePosixPath, module: str, files: dict[str, Path]) -> Iterator[str]:
    """The files of a module, those of the packages that it lies in, and the one that it may be a name of."""
    at = package
    for part in module.split("."):
        at = at / part
        for found in (f"{at}.py", f"{at}/__init__.py"):
            if found in files:
                yield found


def _of_text(text: str, runs: bool, files: dict[str, Path]) -> Iterator[str]:
    """The files that a text names: a Python file by its name or as a module, another where text is run."""
    if text.isprintable() and "/" not in text and not text.endswith(".py"):
        yield from _of_module(PurePosixPath(), text.strip("."), files)
    wanted = PurePosixPath(text).name
    for name in files if wanted else ():
        if PurePosixPath(name).name == wanted and (name.endswith(".py") or runs):
            yield name


def _runs(nodes: Nodes) -> str | None:
    """A text that says what a file runs: "" where only running it tells, None where it runs nothing."""
    told: list[str] = []
    called: set[ast.AST] = set()
    for node in nodes:
        if isinstance(node, ast.Call) and _is_runner(node.func):
            called.add(node.func)
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            told.append(next((text for each in given for part in ast.walk(each) if (text := joined(part))), ""))
        elif node not in called and (_is_runner(node) or joined(node) in _BUILTINS | _FUNCTIONS):
            told.append("")
    return min(told, default=None)


def _is_runner(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name):
            return name in _BUILTINS | _FUNCTIONS
        case ast.Attribute(value=ast.Name(id="builtins" | "__builtins__"), attr=name):
            return name in _BUILTINS
        case ast.Attribute(attr=name):
            return name in _FUNCTIONS
    return False
