"""Kernels that differ in nothing but names are one kernel, launched with other tensors."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace

from akg_core.design.kernels.builder import Emitted
from akg_core.sketch import ast

_NAMED = ("id", "name", "tensor", "targets", "axis", "axes", "variable")  # fields that hold names of the kernel's own
_ASIDE = ("place", "type", "doc")


def shared(emitted: list[Emitted]) -> list[Emitted]:
    """The same launches, each of the first kernel of its structure."""
    known: dict[tuple, ast.Kernel] = {}
    return [replace(each, kernel=known.setdefault(structure(each.kernel), each.kernel)) for each in emitted]


def structure(kernel: ast.Kernel) -> tuple:
    """What a kernel is apart from its names, which are numbered by first use."""
    found: list[object] = []
    numbers: dict[str, int] = {}

    def name(held: str | tuple[str, ...]) -> None:
        for each in (held,) if isinstance(held, str) else held:
            found.append(numbers.setdefault(each, len(numbers)))

    def visit(item: object) -> None:
        if isinstance(item, tuple):
            found.append(len(item))
            for part in item:
                visit(part)
        elif is_dataclass(item):
            found.append(type(item))
            for part in fields(item):
                held = getattr(item, part.name)
                if part.name in _NAMED:
                    name(held)
                elif part.name not in _ASIDE:
                    visit(held)
        else:
            found.append((type(item), repr(item)))  # 1, 1.0 and True are equal

    visit((kernel.tensors, kernel.constants, kernel.tunes, kernel.body))
    return tuple(found)
