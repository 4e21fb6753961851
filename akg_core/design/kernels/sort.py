"""Kernels that put rows in order, each row whole in one program."""

from __future__ import annotations

from collections.abc import Callable

from akg_core.design.algebra.index import Axis
from akg_core.design.graph.values import Sorted
from akg_core.design.kernels.builder import Emitted, builder_of
from akg_core.design.nest.accesses import access_order
from akg_core.design.nest.nest import Nest, Store
from akg_core.design.nest.tiling import ONE, WHOLE, Step, Tiling, choices_around, power_below
from akg_core.records import Traits
from akg_core.sketch.ast import Assign, Call, Name, Number, Statement


def tile_sort(nest: Nest, traits: Traits) -> Tiling:
    """One row a program, several where they are short."""
    (row,) = (a for a in nest.axes if a in nest.reduced)
    left = max(traits.tile_elements // row.extent.example, 1)
    grid: list[tuple[Axis, Step]] = []
    for axis in (a for a in reversed(access_order(nest).order) if a != row):
        step = power_below(min(left, 2 * axis.extent.example - 1))
        grid.append((axis, choices_around(step, 1, 4 * step) if step > 1 else ONE))
        left //= step
    return Tiling(tuple(reversed(grid)), (), ((row, WHOLE),), on_chip=True, trees=traits.register_tiles)


def emit_sort(nest: Nest, tiling: Tiling, name: str, stream: Callable[[Store], bool]) -> Emitted:
    """Rows in order, and what is stored of them."""
    (head,), ((row, _),) = nest.heads, tiling.loops
    assert isinstance(head.of, Sorted)
    e = builder_of(nest, tiling, stream)
    (argument,) = head.args
    body: list[Statement] = [*e.wholes((row,)), *e.writer.named(e.terms, [argument])]
    tile = e.argument(argument, frozenset((row,)), False, body)
    ordered = e.writer.fresh("ordered")
    promise = (("bitonic", Number(True)),) if head.of.bitonic else ()
    body.append(Assign((ordered,), Call("sort", (tile, Name(e.axis(row))), promise)))
    e.bind(head.of, (Name(ordered),))
    body += e.stores(list(nest.stores))
    return e.kernel(name, e.in_grid(tiling.grid, body))
