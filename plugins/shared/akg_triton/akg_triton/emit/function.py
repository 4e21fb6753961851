"""A Triton function, and what launching it takes."""

from __future__ import annotations

from dataclasses import dataclass

from akg_core.plugin.lower import Line
from akg_core.plugin.sketch import Expr
from akg_core.plugin.tile import Workspace


@dataclass(frozen=True, slots=True)
class Function:
    """A Triton function and how it is launched.

    `programs`: extent and step of each grid. `blocks`: lanes that only the launch knows, by the name of the argument.
    `workspaces`: memory that the launch allocates, handed over after the tensors. `most`: programs to launch at most,
    0 for as many as there are places in the grid. `described`: tensors that it takes as descriptors, and rows and
    columns of their blocks. `members`: programs of a cooperative group, 0 where there is none. `needs`: what it calls
    of the library.
    """

    name: str
    lines: list[Line]
    tensors: tuple[str, ...]
    sizes: tuple[str, ...]
    blocks: tuple[tuple[str, Expr], ...]
    programs: tuple[tuple[Expr, Expr], ...]
    warps: int
    stages: int
    workspaces: tuple[Workspace, ...] = ()
    most: int = 0
    described: tuple[tuple[str, tuple[int, int]], ...] = ()
    members: int = 0
    needs: frozenset[str] = frozenset()
