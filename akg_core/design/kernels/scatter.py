"""Kernels whose programs fill rows of a tensor and then update them by atomics, while the rows are near."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from akg_core.design.algebra.index import Axis
from akg_core.design.graph.values import Scatter
from akg_core.design.kernels.builder import Emitted, KernelBuilder
from akg_core.design.nest.accesses import example
from akg_core.design.nest.nest import Nest, Store
from akg_core.design.nest.tiling import ONE, WHOLE, Step, Tiling, choices_around, power_below
from akg_core.dtypes import DTYPES
from akg_core.records import Traits
from akg_core.sketch.ast import Hints, Statement, Tune

_AT_ONCE = 8  # programs that a unit has at once where programs are many threads, each with a row
_FEW = 4  # programs a unit where they are one thread
_LINE = 4  # tiles of a copy that are filled at once
_EACH = 4  # updates of a thread
_MOST_WARPS = 8


def rows_are_filled(head: Scatter, own: int, traits: Traits, wanted: bool | None = None) -> bool:
    """Whether programs should fill the rows that they update, the first `own` dims being those of rows.

    There have to be enough for all units, and as many as are under way at once have to stay on the chip. Where programs
    are many threads, memory has to be in order between these: it is where programs may wait for each other. `wanted`:
    what to do where it is open, True for a row a unit at least.
    """
    shape, rest = head.base.shape, (*head.base.shape[own:], *head.updates.shape[own:])
    if own == len(shape) or any(size == 0 for size in (*shape, *rest)) or wanted is False:
        return False
    rows, row = (prod(s.example for s in sizes) for sizes in (shape[:own], shape[own:]))
    if not traits.register_tiles:
        return rows >= (traits.units if wanted else _FEW * traits.units)
    near = row * DTYPES[head.dtype].size * _AT_ONCE <= 2 * traits.on_chip_bytes
    return bool(traits.co_resident) and near and rows >= (traits.units if wanted else _AT_ONCE * traits.units)


def tile_scatter(nest: Nest, traits: Traits) -> Tiling:
    """A row a program, several of short ones. The loops are first those that fill it, then those over its updates."""
    rows, filled, updated = _parts(nest)
    line = [(a, s if s is WHOLE else Step(s.default)) for a, s in _steps(filled, _LINE * traits.tile_elements, traits)]
    turns = _steps(updated, traits.tile_elements, traits)
    busy = example(rows) // ((_AT_ONCE if traits.register_tiles else _FEW) * traits.units)
    left = power_below(min(traits.tile_elements // max(_lanes(line), _lanes(turns)), busy))
    grid: list[tuple[Axis, Step]] = []
    for axis in reversed(rows):
        step = power_below(min(left, axis.extent.example))
        grid.append((axis, choices_around(step, 1, 4 * step) if step > 1 else ONE))
        left = max(left // step, 1)
    warps: tuple[int, ...] = ()
    if traits.register_tiles:
        tile = max(_lanes(line) // _LINE, _lanes(turns)) * prod(step.default for _, step in grid)
        usual = min(power_below(tile // (_EACH * traits.lanes)), _MOST_WARPS)
        warps = tuple(w for w in (usual, usual // 2, 2 * usual) if w)
    return Tiling(tuple(reversed(grid)), (), (*line, *turns), on_chip=False, warps=warps)


def emit_scatter(nest: Nest, tiling: Tiling, name: str, stream: Callable[[Store], bool]) -> Emitted:
    """A tile of rows: what they are filled with, and then their updates and what is stored beside these."""
    rows, filled, updated = _parts(nest)
    names = {axis: f"{letter}{n or ''}" for letter, axes in zip("mnk", (rows, filled, updated), strict=True)
             for n, axis in enumerate(axes)}  # fmt: skip
    fill, *updates = nest.stores
    e = KernelBuilder(nest, names, lambda store: store is not fill and stream(store))  # what is filled is to stay near
    e.filled = frozenset((fill.buffer,))
    roots = [t for s in nest.stores for t in s.roots]
    body: list[Statement] = e.wholes(a for a, s in tiling.loops if s is WHOLE)
    body += e.writer.hoisted(e.terms, roots, frozenset((*filled, *updated)))
    for stores, axes in (([fill], filled), (updates, updated)):
        known = dict(e.writer.known)
        loops = [(a, s) for a, s in tiling.loops if a in axes]
        body += e.looped(loops, e.stores(stores), chunked=False)
        e.writer.known = known
    hints: Hints = (("warps", Tune(tiling.warps)),) if tiling.warps else ()
    return e.kernel(name, e.in_grid(tiling.grid, body, hints=hints))


def _steps(axes: Sequence[Axis], room: int, traits: Traits) -> list[tuple[Axis, Step]]:
    """Tiles of at most `room` positions together, the last axes whole where they are short."""
    steps: list[tuple[Axis, Step]] = []
    for axis in reversed(axes):
        extent = axis.extent.example
        step = extent
        if axis.extent.constant is not None and extent <= room:
            steps.append((axis, WHOLE))
        else:
            longest = extent if axis.extent.constant is not None or steps else max(extent, traits.lanes)
            step = power_below(min(room, 2 * longest - 1))
            least = min(traits.lanes, step)
            steps.append((axis, choices_around(step, least, 8 * step) if step > 1 else ONE))
        room = max(room // step, 1)
    return steps[::-1]


def _lanes(steps: Sequence[tuple[Axis, Step]]) -> int:
    return prod(step.default or axis.extent.example for axis, step in steps)


def _parts(nest: Nest) -> tuple[list[Axis], list[Axis], list[Axis]]:
    """The axes of rows, of what fills one, and of its updates."""
    fill = nest.stores[0]
    walked = frozenset().union(*(p.axes() for p in fill.at))
    rows = [a for a in nest.kept if a in walked]
    return rows, [a for a in nest.axes if a in nest.reduced], [a for a in nest.kept if a not in walked]
