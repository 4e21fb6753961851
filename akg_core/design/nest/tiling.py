"""How a nest is cut into tiles: by the chip's traits, the order of accesses, and what must stay on the chip."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from akg_core.design.algebra.index import Axis, Index, position
from akg_core.design.graph.values import Reduction
from akg_core.design.nest.accesses import AccessOrder, access_order, example, live_bytes, passes, shared
from akg_core.design.nest.nest import Nest
from akg_core.design.nest.terms import Load, axes_of
from akg_core.dtypes import DTYPES
from akg_core.records import Traits

MANY_TILES = 12  # sums of more tiles than this carry what rounding lost
_MULTIPASS = ("moments", "online_softmax")  # read their tile twice
_LINE = 4  # tiles of a copy in a line of results that a program holds
_ROWS = 4  # rows that are added to such a line at a time
_BLOCK = 4  # tiles of a copy in a block of columns
_TURNS = 32  # tiles of a row that one program goes through where several share it
_MOST_PARTS = 1 << 14  # of one result, which a merge holds in one tile
_STAGES = 4  # such blocks that are under way to a program at once
_LONG_COLUMN = 512  # rows from which on it is cut rather than the line
_TOGETHER = 64  # tiles of a copy whose updates one program joins
_PER_STATE = 32  # elements that a program should reduce to each state that it hands to a merge


@dataclass(frozen=True, slots=True)
class Step:
    """Positions a tile: `default`, or another of `choices`. `default` 0: the whole extent.

    `unroll`: how many turns of a loop over such tiles are written out in a row; `stages`: loads of how many are under
    way at once, 0 where nothing is said of it.
    """

    default: int
    choices: tuple[int, ...] = ()
    unroll: int = 1
    stages: int = 0


WHOLE = Step(0)
ONE = Step(1)


@dataclass(frozen=True, slots=True)
class Tiling:
    """`grid`: parallel axes, outermost first; `inside`: kept axes whole in each program; `loops`: reduced axes.

    `chunk`: positions of the first of `loops` that one program of a split reduction has. `rows`: axes of the grid whose
    tile a program goes through position by position. `trees`: whether tiles are summed as trees, so that what rounding
    loses grows with their logarithm. `cooperative`: an axis of the grid whose programs share a result. `joined`: tiles
    of `loops` that differ are told apart as they come, and have no loops of their own, so that loads ahead go on.
    `persistent`: a program for each unit takes tile after tile of the grid. `warps`: of a program, the first or another
    of them; none where nothing is said of it.
    """

    grid: tuple[tuple[Axis, Step], ...]
    inside: tuple[Axis, ...]
    loops: tuple[tuple[Axis, Step], ...]
    on_chip: bool = True
    chunk: int = 0
    rows: tuple[Axis, ...] = ()
    trees: bool = False
    cooperative: Axis | None = None
    joined: bool = False
    persistent: bool = False
    warps: tuple[int, ...] = ()

    @property
    def reduced(self) -> tuple[Axis, ...]:
        """The axes that a tile is reduced along: those of the loops, and a cooperative one."""
        loops = tuple(a for a, _ in self.loops)
        return loops if self.cooperative is None or self.cooperative in loops else (self.cooperative, *loops)

    @property
    def programs(self) -> int:
        """How many programs there are, at the example sizes."""
        return prod(-(-a.extent.example // max(s.default, 1)) for a, s in self.grid)

    @property
    def tiles(self) -> int:
        """How many tiles one program goes through, at the example sizes."""
        counts = [-(-a.extent.example // s.default) if s.default else 1 for a, s in self.loops]
        if self.chunk:
            _, step = self.loops[0]
            counts[0] = -(-self.chunk // step.default) if step.default else 1
        return prod(counts)

    @property
    def has_many_tiles(self) -> bool:
        """Whether one program goes through many tiles, or may do so at other sizes than the example's."""
        loops = self.loops[1:] if self.chunk else self.loops
        return self.tiles > MANY_TILES or any(step.default and axis.extent.constant is None for axis, step in loops)


def reach(axis: Axis, walked: AccessOrder, traits: Traits) -> int:
    """How long an axis is, for the size of its tile: lanes whose number varies may be a vector, if not here."""
    varies = axis == walked.lane and axis.extent.constant is None
    return max(axis.extent.example, traits.lanes if varies else 1)


def power_below(number: int) -> int:
    return 1 << max(number, 1).bit_length() - 1


def multiples_up_to(size: int) -> Step:
    """A size that is no power of two, or another multiple of the largest one that divides it."""
    unit = size & -size
    return Step(size, tuple(range(unit, size + 1, unit)))


def choices_around(default: int, low: int, high: int) -> Step:
    """Powers of two around a default, within [low, high]."""
    around = [default * n // d for n, d in ((1, 4), (1, 2), (1, 1), (2, 1), (4, 1))]
    kept = sorted({c for c in around if low <= c <= high or c == default})
    return Step(default, tuple(kept)) if len(kept) > 1 else Step(default)


def _fewest(traits: Traits) -> int:
    """The least lanes of a tile that a schedule may have: a whole vector, or less where a chip refuses what is more."""
    return traits.lanes if traits.spills else min(traits.lanes, 8)


def _fewest_reduced(axis: Axis, walked: AccessOrder, traits: Traits) -> int:
    """The least positions of a reduced axis in a tile, likewise: one, where these do not lie side by side."""
    return 8 if traits.spills or axis == walked.lane else 1


def summed_elements(traits: Traits) -> int:
    """A good tile of a reduction: twice that of a copy where it is held, since what is reduced is not written."""
    return 2 * traits.tile_elements if traits.register_tiles else traits.tile_elements


def tile(nest: Nest, traits: Traits, on_chip: bool | None = None, split: bool = False) -> Tiling:
    """Tiles of an elementwise or reducing nest.

    `on_chip` overrides whether reduced axes stay whole on the chip; `split`: several programs share each result.
    """
    walked = access_order(nest)
    if not nest.reduced:
        return _elementwise(nest, walked, traits)
    count, kept = example(nest.reduced), example(nest.kept)
    across = walked.lane is not None and walked.lane not in nest.reduced  # lanes run over results
    width = min(walked.lane.extent.example, 4 * traits.lanes) if across and walked.lane else 1
    fits = count * width * live_bytes(nest) <= traits.on_chip_bytes * 3 // 4
    twice = passes(nest) > 1 or any(isinstance(h.of, Reduction) and h.of.kind in _MULTIPASS for h in nest.heads)
    if on_chip is None:
        tile_here = summed_elements(traits)
        on_chip = count * width <= tile_here or (fits and (twice or count * width <= 4 * tile_here))
        # A row whose length varies may have to be held elsewhere, if not in the example.
        on_chip = on_chip and (traits.spills or all(axis.extent.constant is not None for axis in nest.reduced))
    if on_chip:
        return _single_pass(nest, walked, traits, across, count, kept)
    return _looped(nest, walked, traits, across, split)


def _elementwise(nest: Nest, walked: AccessOrder, traits: Traits) -> Tiling:
    together = _updated_together(nest, traits)
    spread = example([axis for axis in nest.axes if axis not in together])  # over programs
    budget = max(min(traits.tile_elements, power_below(spread // (4 * traits.units))), 2 * traits.lanes)
    grid: list[tuple[Axis, Step]] = []
    inside: list[Axis] = []
    left = budget
    for axis in reversed(walked.order):
        extent = axis.extent.example
        if axis in together:
            inside.append(axis)
            left = max(left // extent, 1)
            continue
        side = power_below(int(budget**0.5)) if walked.cross else budget
        if axis in (walked.lane, walked.cross):
            step = min(side, left)
            if not walked.cross and extent <= step and len(walked.order) > 1 and axis.extent.constant:
                inside.append(axis)
                left = max(left // extent, 1)
                continue
            step = min(step, power_below(2 * reach(axis, walked, traits) - 1))
            grid.append((axis, choices_around(step, min(8, step), 4 * budget)))
        else:
            step = min(left, power_below(extent)) if not walked.cross else 1
            grid.append((axis, choices_around(step, 1, 4 * step) if step > 1 else ONE))
        left = max(left // step, 1)
    again = _read_again(nest, walked, traits)
    grid.sort(key=lambda at: at[0] in again, reverse=True)  # the last axis of the grid runs fastest
    return Tiling(tuple(reversed(grid)), tuple(reversed(inside)), ())


def _updated_together(nest: Nest, traits: Traits) -> frozenset[Axis]:
    """The axes of which one program has all positions, so that no two update the same place: those that are no dim of
    a tensor that is updated, where the others are enough for all cores. Where programs are threads, those that meet
    would each need a copy of the tensor; hardware that joins updates in memory needs none."""
    updates = [store for store in nest.stores if store.op not in ("store", "set")]
    if traits.register_tiles or not updates:
        return frozenset()
    own = frozenset(a for a in nest.axes if all(position(a) in store.at for store in updates))
    shared = frozenset(nest.axes) - own
    few = example(own) < 4 * traits.units or example(shared) > _TOGETHER * traits.tile_elements
    return frozenset() if few or any(axis.extent.constant is None for axis in shared) else shared


def _read_again(nest: Nest, walked: AccessOrder, traits: Traits) -> list[Axis]:
    """Axes for each position of which the same is read along the lanes, more than all units hold on the chip together.

    Programs that are one after the other along such an axis read it while it is on the chip.
    """
    if not traits.register_tiles or walked.lane is None or walked.cross:
        return []
    axes = axes_of(nest.terms(), frozenset(nest.kept))
    loads = {t: axes[t] for t in axes if isinstance(t, Load) and walked.lane in axes[t]}
    sizes = {t: example(over) * DTYPES[t.dtype].size for t, over in loads.items()}
    return [
        axis
        for axis in walked.order
        if sum(size for t, size in sizes.items() if axis not in loads[t]) > traits.on_chip_bytes * traits.units
    ]


def _single_pass(nest: Nest, walked: AccessOrder, traits: Traits, across: bool, count: int, kept: int) -> Tiling:
    """All that is reduced in one tile, beside as many results as keep it on the chip."""
    budget = max(summed_elements(traits), count)
    room = min(max(budget // count, 1), max(kept // (4 * traits.units), 1))
    on_chip_room = max(traits.on_chip_bytes * 3 // 4 // (count * live_bytes(nest)), 1)
    grid: list[tuple[Axis, Step]] = []
    left = min(room, on_chip_room)
    lanes = 0
    if across and walked.lane is not None:
        # Lanes run over results: enough of them to fill vectors and lines of memory. Other axes get what they leave.
        lanes = power_below(min(max(room, 8 * traits.lanes), on_chip_room, 2 * walked.lane.extent.example - 1))
        left //= lanes
    for axis in reversed([a for a in walked.order if a not in nest.reduced]):
        if lanes and axis == walked.lane:
            grid.append((axis, choices_around(lanes, min(lanes, _fewest(traits)), max(on_chip_room, lanes))))
            continue
        step = power_below(min(left, axis.extent.example))
        few = (axis.extent.constant or 2) > 1 and count * live_bytes(nest) * 8 <= traits.on_chip_bytes
        grid.append((axis, choices_around(step, 1, 4 * step) if step > 1 or (few and not grid) else ONE))
        left //= step
    loops = tuple((a, WHOLE) for a in walked.order if a in nest.reduced)
    return Tiling(tuple(reversed(grid)), (), loops)


def _looped(nest: Nest, walked: AccessOrder, traits: Traits, across: bool, split: bool) -> Tiling:
    """Tiles along the reduced axes, one after the other."""
    grid: list[tuple[Axis, Step]] = []
    loops: list[tuple[Axis, Step]] = []
    if _is_column_reduction(nest, walked, traits) and not split:
        return _column_reduction(nest, walked, traits)
    # What a program holds of many rows are long lines of results, of a few rows at a time.
    held = across and traits.register_tiles
    left = _ROWS * _LINE * traits.tile_elements if held else summed_elements(traits)
    if across and walked.lane is not None:
        extent = walked.lane.extent.example
        programs = max(example(nest.kept) // extent, 1)
        step = power_below(min(2 * reach(walked.lane, walked, traits) - 1, max(left // 4, 8 * traits.lanes)))
        while step > 4 * traits.lanes and programs * -(-extent // step) < 2 * traits.units and not (held and split):
            step //= 2
        while step > traits.lanes and programs * -(-extent // step) < traits.units // 2 and not split:
            step //= 2  # a unit without work loses more than a line of memory that is read in parts
        left = max((max(_ROWS * step, _LINE * traits.tile_elements) if held else left) // step, 1)
    for axis in reversed(walked.order):
        extent = axis.extent.example
        short = min(left, traits.lanes)  # what a chip refuses in one tile it may take in smaller ones
        if axis not in nest.reduced:
            at_lane = across and axis == walked.lane
            if at_lane:
                grid.append((axis, choices_around(step, min(step, _fewest(traits)), 8 * step)))
            elif not across and not grid and shared(nest, axis) and extent >= 8 * traits.units:
                # Rows that read the same vector take it together.
                grid.append((axis, Step(4, (1, 2, 4, 8))))
            else:
                grid.append((axis, ONE))
        elif held and left == _ROWS and _places(nest):
            # Row after row, so that the first of equals is the one that came first.
            loops.append((axis, Step(1, unroll=_ROWS)))
            left = 1
        elif extent <= (left if traits.spills else short) and axis.extent.constant and axis not in nest.fixed:
            loops.append((axis, WHOLE))
            left = max(left // extent, 1)
        else:
            # Few tiles of many rows: what is kept between tiles is a whole line of results.
            most = max(left, 64) if across and not held else left
            step_here = power_below(min(most, 2 * reach(axis, walked, traits) - 1))
            least = min(_fewest_reduced(axis, walked, traits), step_here)
            loops.append((axis, choices_around(step_here, least, 8 * step_here) if step_here > 1 else ONE))
            left = max(left // step_here, 1)
    return Tiling(tuple(reversed(grid)), (), tuple(reversed(loops)), on_chip=False)


def _is_column_reduction(nest: Nest, walked: AccessOrder, traits: Traits) -> bool:
    """Whether there are so many columns that each program has a few for itself, and goes down all their rows."""
    if not traits.register_tiles or walked.lane is None or walked.lane in nest.reduced or _places(nest):
        return False
    width = min(walked.lane.extent.example, 8 * traits.lanes)
    return example(nest.kept) >= 2 * traits.units * width


def _column_reduction(nest: Nest, walked: AccessOrder, traits: Traits) -> Tiling:
    """Blocks of many rows of a few columns, several of them under way at once."""
    assert walked.lane is not None
    extent = walked.lane.extent.example
    width = power_below(min(2 * extent - 1, 8 * traits.lanes))
    held = 4 * _BLOCK * traits.tile_elements // max(live_bytes(nest) - 4, 1)
    left = max(held // width, 1)
    grid = [(a, ONE) for a in walked.order if a not in nest.reduced and a != walked.lane]
    loops: list[tuple[Axis, Step]] = []
    for axis in reversed([a for a in walked.order if a in nest.reduced]):
        rows = power_below(min(left, 2 * axis.extent.example - 1))
        around = choices_around(rows, min(_fewest_reduced(axis, walked, traits), rows), 8 * rows) if rows > 1 else ONE
        loops.append((axis, replace(around, stages=0 if loops else _STAGES)))
        left = max(left // rows, 1)
    lanes = choices_around(width, min(width, _fewest(traits)), 8 * width)
    return Tiling((*grid, (walked.lane, lanes)), (), tuple(reversed(loops)), on_chip=False)


def _places(nest: Nest) -> bool:
    """Whether a nest looks for the places of extremes."""
    return any(isinstance(h.of, Reduction) and h.of.kind.startswith("arg") for h in nest.heads)


def splits(space: tuple[Index, ...], reduced: frozenset[int], traits: Traits, always: bool = False) -> bool:
    """Whether a reduction leaves units without work, so that several programs should share each result.

    `always`: whether it could be, being longer than what stays on the chip.
    """
    sizes = [s.example for s in space]
    kept = prod(s for d, s in enumerate(sizes) if d not in reduced)
    count = prod(sizes[d] for d in reduced)
    if always:
        return 4 * count > traits.on_chip_bytes
    last = max((d for d, s in enumerate(sizes) if s != 1), default=-1)
    line = _LINE * traits.tile_elements if traits.register_tiles and count >= _LONG_COLUMN else 8 * traits.lanes
    programs = kept if last in reduced else -(-kept // line)
    return traits.units > 1 and programs < 2 * traits.units and kept * count >= 16 * summed_elements(traits)


def in_chunks(tiling: Tiling, chunk: int) -> Tiling:
    """The tiling with `chunk` positions of its first loop for each program, tile by tile, so that it ends with them."""
    (axis, step), *rest = tiling.loops
    first = (axis, step if step.default else Step(power_below(chunk)))
    return replace(tiling, loops=(first, *rest), chunk=chunk)


def chunk_size(nest: Nest, tiling: Tiling, traits: Traits) -> int:
    """Positions of the first loop for one program of a split reduction: enough programs for all units, whole tiles."""
    axis, step = tiling.loops[0]
    walked = access_order(nest)
    if _is_column_reduction(nest, walked, traits):
        return axis.extent.example
    programs = tiling.programs
    wanted = max((32 if traits.register_tiles else 16) * traits.units // programs, 1)
    few = _PER_STATE // prod(a.extent.example for a, _ in tiling.loops[1:])
    busy = axis.extent.example * programs // (2 * traits.units)  # leaves each unit two programs
    size = max(-(-axis.extent.example // wanted), min(few, busy))
    unit = (step.default or 1) * step.unroll
    if traits.register_tiles and axis == walked.lane:  # short programs share the memory evenly to the end
        size = min(size, max(_TURNS * unit, -(-axis.extent.example // _MOST_PARTS)))
    return max(-(-size // unit), 1) * unit
