"""What a region of a kernel is written from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from akg_core.plugin.lower import Instance
from akg_core.plugin.sketch import ast
from akg_triton.dialect import Dialect


@dataclass(frozen=True, slots=True)
class Source:
    """One region: its grids and what a program of them runs, in the words of a dialect.

    `order`: axes from the first dimension of a tile to the last; those that it lacks follow as they are met.
    `single`: axes along which a thread takes one element of each access. `described`: tensors that have a descriptor,
    and the rows and columns of its block.
    """

    instance: Instance
    grids: Sequence[ast.Grid]
    body: Sequence[ast.Statement]
    dialect: Dialect
    order: Sequence[str] = ()
    single: frozenset[str] = frozenset()
    described: Mapping[str, tuple[int, int]] = field(default_factory=dict)
