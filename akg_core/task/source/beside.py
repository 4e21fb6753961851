"""A reference file finds what lies beside it, wherever its text is run: in a worker, as a copy beside a kernel.

Text that mentions `__file__`, or imports what lies in the file's folder, says where that is before its first import, on
the same line, so that all lines keep their numbers.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path


def placed(source: str, path: Path) -> str:
    """The text of a reference file that lies at `path`, knowing where it lies if it has to; else as it is."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return source  # which is said when it is run
    first = next((node for node in tree.body if _is_import(node)), None)
    path = path.resolve()
    siblings = any(_lies_in(path.parent, name) for name in _imported(tree))
    if first is None or not (siblings or "__file__" in source):
        return source
    said = f"__file__ = {str(path)!r}; "
    if siblings:
        said += f'__import__("sys").path.insert(0, {str(path.parent)!r}); '
    lines = source.split("\n")  # as Python counts them
    lines[first.lineno - 1] = said + lines[first.lineno - 1]
    return "\n".join(lines)


def _is_import(node: ast.stmt) -> bool:
    future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
    return isinstance(node, (ast.Import, ast.ImportFrom)) and not future


def _imported(tree: ast.Module) -> Iterator[str]:
    """The packages and modules that a file imports, anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _lies_in(folder: Path, name: str) -> bool:
    """Whether an import finds a module in a folder; the standard library's are found before."""
    if name in sys.stdlib_module_names:
        return False
    return (folder / f"{name}.py").is_file() or (folder / name / "__init__.py").is_file()
