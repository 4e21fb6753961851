"""The functions in Triton that kernels may call beside Triton's own: their texts, and what each of them calls.

They are the functions of `helpers.py`, which is read and never imported: Triton need not be installed where kernels are
written.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from akg_core.plugin import Unsupported

LIBDEVICE = "libdevice"


def _texts() -> dict[str, str]:
    text = Path(__file__).with_name("helpers.py").read_text("utf-8")
    lines = text.splitlines()
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    begin = {node.name: node.decorator_list[0].lineno - 1 for node in functions}
    return {node.name: "\n".join(["", *lines[begin[node.name] : node.end_lineno], ""]) for node in functions}


HELPERS: Mapping[str, str] = _texts()
"""Texts of functions by name, those that others call before them."""


def called(text: str, others: Iterable[str] = ()) -> frozenset[str]:
    """The helpers that Python text names, of those here and `others`; "libdevice" is one where it names that."""
    return _named(text) & {*HELPERS, *others, LIBDEVICE}


@cache
def _named(text: str) -> frozenset[str]:
    return frozenset(node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name))


def library(wanted: Iterable[str], others: Mapping[str, str], functions: str) -> tuple[str, str]:
    """The import and the functions that a file needs for helpers by name.

    `others`: texts in place of `HELPERS`, and functions of the chip's own, which come after them. `functions`: the
    module of "libdevice". Raises Unsupported where one that is needed has no text.
    """
    known = {**HELPERS, **others}
    needed: set[str] = set()
    waiting = set(wanted)
    while waiting:
        name = waiting.pop()
        needed.add(name)
        if name == LIBDEVICE:
            continue
        if not known[name]:
            raise Unsupported(f"`{name}` has no form in the Triton of this chip.")
        waiting |= called(known[name], others) - needed
    package, _, module = functions.rpartition(".")
    imported = f"from {package} import {module}" if LIBDEVICE in needed else ""
    return imported, "\n".join(known[name] for name in known if name in needed)
