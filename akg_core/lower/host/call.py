"""A launch of a program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from akg_core.sketch import ast


@dataclass(frozen=True, slots=True)
class Call:
    """One launch as the host sees it: what the plugin's `launch` callback turns into a line of Python.

    `index` counts the program's launches from 0. `tensors` are Python names of torch tensors in the order of the
    kernel's tensor parameters; `sizes` gives, for each dimension name of the kernel in order of first appearance, a
    Python expression, `expressions` the same over the program's dimension names, as a tree. `constants`: the
    launch's Consts. `turns`: how often the loops of the program around it turn, those counted that a number bounds.
    """

    index: int
    launch: ast.Launch
    kernel: ast.Kernel
    tensors: tuple[str, ...]
    sizes: Mapping[str, str]
    expressions: Mapping[str, ast.Expr]
    constants: Mapping[str, ast.Expr]
    turns: int = 1

    @property
    def written(self) -> tuple[str, ...]:
        """The tensors of the program that it writes to."""
        handed = zip(self.kernel.tensors, self.launch.tensors, strict=True)
        return tuple(name for parameter, name in handed if parameter.role in ("Out", "InOut"))
