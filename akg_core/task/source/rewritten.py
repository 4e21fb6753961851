"""The tree of a file as it is run on tensors without data: its loops and branches are rewritten.

A file is loaded many times when it is made smaller, with other numbers in a few of its statements; the others are
rewritten once. Worker side only.
"""

from __future__ import annotations

import ast
import functools
import io
from collections.abc import Iterator, Sequence

from akg_core.task.source.branches import chosen
from akg_core.task.source.loops import at_once

_KEPT = 512  # statements at the top of files


def rewritten(source: str) -> ast.Module:
    """The tree of a file that is Python; it shares its statements with those of other such files, and is only read."""
    module = ast.parse(source)
    lines = io.StringIO(source, newline=None).read().split("\n")  # as Python counts them
    module.body = [
        statement
        for first, last in _spans(module.body)
        for statement in _statements("\n" * (first - 1) + "\n".join(lines[first - 1 : last]))
    ]
    return module


def _spans(statements: Sequence[ast.stmt]) -> Iterator[tuple[int, int]]:
    """The first and the last lines of statements, of those together that share a line."""
    found: list[tuple[int, int]] = []
    for statement in statements:
        first = min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))])
        last = statement.end_lineno or statement.lineno
        if found and first <= found[-1][1]:
            first, _ = found.pop()
        found.append((first, last))
    yield from found


@functools.lru_cache(_KEPT)
def _statements(text: str) -> tuple[ast.stmt, ...]:
    """What a part of a file is made of, behind as many empty lines as there are lines before it."""
    part = ast.parse(text)
    at_once(part)
    chosen(part)
    return tuple(part.body)
