"""Python text as a tree, one text at a time.

CPython counts how deep it is in a tree for all threads of a process together (until 3.13): where two parse at once, one
may end with a SystemError. What runs in the orchestrator's threads parses here.
"""

from __future__ import annotations

import ast
import threading

_one_at_a_time = threading.Lock()


def module_of(text: str) -> ast.Module:
    """The tree of a file. Raises what `ast.parse` raises for a text that is not Python."""
    with _one_at_a_time:
        return ast.parse(text)


def expression_of(text: str) -> ast.expr:
    """The tree of an expression. Raises what `ast.parse` raises for a text that is none."""
    with _one_at_a_time:
        return ast.parse(text, mode="eval").body
