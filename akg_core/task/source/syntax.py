"""Whether a file is Python at all, said in a sentence before a process starts for it; nodes put into its tree."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from types import CodeType

from akg_core.errors import AkgError, TaskError


def compiled(
    source: str,
    name: str,
    filename: str = "",
    kind: type[AkgError] = TaskError,
    tree: Callable[[str], ast.Module] = ast.parse,
) -> CodeType:
    """The code of a Python file, whose `filename` tracebacks show; `name` stands for it in messages.

    `tree`: what is run of the file. Raises an error of this `kind` that says what is wrong and in which line.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in strings and the like, which are none of ours
            return compile(tree(source), filename or name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        said = error.msg if isinstance(error, SyntaxError) else str(error) or "it nests too deeply"
        raise kind(
            f"{name}{line}: the file is not Python: {said}.", "Mend the file; Python itself cannot read it."
        ) from None


def named(name: str) -> ast.Name:
    """A name that is read."""
    return ast.Name(id=name, ctx=ast.Load())


def later(value: ast.expr) -> ast.Lambda:
    """`lambda: value`."""
    empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(args=empty, body=value)
