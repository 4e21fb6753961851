"""Kernels of running sums and their like: tile by tile along the row, the last value carried on."""

from __future__ import annotations

from collections.abc import Callable

from akg_core.design.emit import Emission, Emitted, name_axes
from akg_core.design.fold import call, neutral
from akg_core.design.index import Axis
from akg_core.design.nest import Nest, Store
from akg_core.design.tiling import ONE, Step, Tiling, choices_around, power_below, walk
from akg_core.design.values import Scan
from akg_core.records import Traits
from akg_core.sketch.ast import Assign, AxisList, Call, Name, Number, Statement, Text, Tiles

_JOIN = {"sum": "+", "prod": "*"}


def tile_running(nest: Nest, traits: Traits) -> Tiling:
    """Long tiles along the row; where rows lie side by side in memory, several of them a program."""
    walked = walk(nest)
    grid: list[tuple[Axis, Step]] = []
    across = walked.lane is not None and walked.lane not in nest.reduced
    left = traits.tile_elements
    for axis in [a for a in reversed(walked.order) if a not in nest.reduced]:
        step = power_below(min(8 * traits.lanes, 2 * axis.extent.example - 1)) if across and axis is walked.lane else 1
        grid.append((axis, choices_around(step, traits.lanes, 8 * step) if step > 1 else ONE))
        left = max(left // step, 1)
    loops: list[tuple[Axis, Step]] = []
    for axis in (a for a in nest.axes if a in nest.reduced):
        step = power_below(min(left, 2 * axis.extent.example - 1))
        loops.append((axis, choices_around(step, min(step, 8), 8 * step)))
    return Tiling(tuple(reversed(grid)), (), tuple(loops), near=False)


def emit_running(nest: Nest, tiling: Tiling, name: str, stream: Callable[[Store], bool]) -> Emitted:
    """The scan of each tile joined with what came before it."""
    head = nest.heads[0]
    assert isinstance(head.of, Scan)
    axes = tuple(a for a, _ in tiling.loops)
    e = Emission(nest, name_axes(nest, (*(a for a, _ in tiling.grid), *axes)), stream)
    ((axis, step),) = tiling.loops
    along, kept = e.axis(axis), tuple(e.axis(a) for a, _ in tiling.grid)
    dtype = head.args[0].dtype
    before = e.writer.fresh("before")
    first = Call("full", (AxisList(kept), Number(neutral(head.of.op, dtype)), Text(dtype)))
    out: list[Statement] = e.writer.hoisted(e.terms, list(head.args), frozenset(axes))
    out.append(Assign((before,), first))
    body = e.writer.named(e.terms, list(head.args))
    tile = e.argument(head.args[0], frozenset(axes), False, body)
    scanned = Call(f"scan_{head.of.op}", (tile, Name(along)))
    running = e.writer.fresh("running")
    body.append(Assign((running,), call(_JOIN[head.of.op], scanned, Name(before))))
    e.bind(head.of, (Name(running),))
    body += e.stores(list(nest.stores))
    body.append(Assign((before,), Call("last", (Name(running), Name(along)))))
    out.append(Tiles(along, e.extent(axis), e.step(axis, step), tuple(body)))
    return e.kernel(name, e.in_grid(tiling.grid, out))
