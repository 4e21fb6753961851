"""Files that a user names: each is read or refused in one sentence, with near names that would be accepted."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from akg_core.errors import UsageError
from akg_core.python_text import module_of
from akg_core.task.source.syntax import compiled

if TYPE_CHECKING:
    from akg_core.records import Artifact

_MOST_BYTES = 16 << 20  # of a file of text that is read
_MODEL_NEW = "A kernel is a .py file with the class ModelNew, which is constructed and called as the reference's Model."


def reference_file(path: Path) -> Path:
    """`path`, which is a file of Python that may be a reference; raises UsageError or TaskError."""
    compiled(read(path, "reference file", is_reference), str(path))
    return path


def sketch_file(path: Path | None) -> Path | None:
    """`path`, which is a file that may be a sketch, or None; raises UsageError."""
    if path is not None:
        read(path, "sketch", is_sketch)
    return path


def read(path: Path, what: str, fits: Callable[[str], bool]) -> str:
    """The text of a file. `what` it is due to be, and whether the text of another `fits`, go into the UsageError."""
    shown = repr(str(path))
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"{shown} is {'a folder' if path.is_dir() else 'no file'}; a {what} is due.")
        if path.stat().st_size > _MOST_BYTES:
            raise UsageError(f"{shown} has {path.stat().st_size:,} bytes; a {what} is due.")
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        near = _near(path, lambda other: _holds(other, fits))
        raise UsageError(f"There is no {what} {shown}.", near or "Give the path of one that is there.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{shown} is not UTF-8 text; a {what} is due.") from None
    except OSError as error:
        raise UsageError(f"The {what} {shown} cannot be read: {error.strerror}.") from None
    if not text.strip():
        raise UsageError(f"{shown} is empty; a {what} is due.")
    return text


def is_sketch(text: str) -> bool:
    """Whether a file has @kernel or @program and no class, so that it is a sketch and no reference."""
    return bool(re.search(r"^@(kernel|program)\b", text, re.M)) and not re.search(r"^class\b", text, re.M)


def is_reference(text: str) -> bool:
    """Whether a file speaks of what only a reference defines."""
    return "get_inputs" in text


def kernel(path: Path) -> Artifact:
    """The kernel in a folder (its model_new.py, or its only file with ModelNew) or in one .py file; it is not run."""
    from akg_core.records import Artifact

    entry = _entry(path) if path.is_dir() else path
    if not entry.exists():
        cure = "Give a kernel's folder, such as runs/<id>/kernel, or a .py file with ModelNew."
        raise UsageError(f"There is no kernel {str(path)!r}.", _near(path, _is_kernel) or cure)
    if entry.suffix != ".py":
        raise UsageError(f"{str(entry)!r} is not a .py file.", _MODEL_NEW)
    text = read(entry, "kernel", _names_model_new)
    compiled(text, str(entry), kind=UsageError)
    if not any(_binds_model_new(node) for node in ast.walk(module_of(text))):
        raise UsageError(f"{entry} defines no ModelNew.", _MODEL_NEW)
    return Artifact(folder=entry.parent.resolve(), entry=entry.name)


def run_folder(path: Path) -> Path:
    """`path`, where something is; raises UsageError."""
    if not path.exists():
        cure = "Give the folder that a run names at its end, such as runs/<id>, or a kernel's."
        raise UsageError(
            f"There is no run {str(path)!r}.", _near(path, lambda other: (other / "kernel").is_dir()) or cure
        )
    return path


def _entry(folder: Path) -> Path:
    named = folder / "model_new.py"
    files = [named] if named.exists() else [file for file in sorted(folder.glob("*.py")) if _is_kernel(file)]
    if len(files) == 1:
        return files[0]
    several = f"It has several: {', '.join(file.name for file in files)}. Give the file itself."
    raise UsageError(
        f"{str(folder)!r} is not the folder of a kernel.",
        several if files else "No .py file in it defines ModelNew.",
    )


def _binds_model_new(node: ast.AST) -> bool:
    match node:
        case ast.ClassDef(name="ModelNew") | ast.FunctionDef(name="ModelNew"):
            return True
        case ast.Name(id="ModelNew", ctx=ast.Store()):
            return True
        case ast.alias(name=name, asname=asname):
            return "ModelNew" in (name, asname) or name == "*"
    return False


def _is_kernel(path: Path) -> bool:
    if path.is_dir():
        return (path / "model_new.py").exists() or any(_holds(file, _names_model_new) for file in path.glob("*.py"))
    return path.suffix == ".py" and _holds(path, _names_model_new)


def _names_model_new(text: str) -> bool:
    return "ModelNew" in text


def _holds(path: Path, fits: Callable[[str], bool]) -> bool:
    try:
        return path.is_file() and path.stat().st_size <= _MOST_BYTES and fits(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return False


def _near(path: Path, accepted: Callable[[Path], bool]) -> str:
    """A question about the names beside `path` that are like its own and would be accepted in its place."""
    from difflib import get_close_matches

    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return ""
    near = [path.parent / name for name in get_close_matches(path.name, names, n=9) if accepted(path.parent / name)]
    return f"Did you mean {' or '.join(map(str, near[:2]))}?" if near else ""
