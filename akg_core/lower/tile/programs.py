"""A grid as programs in one dimension: each finds its place along every axis from its number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from akg_core.errors import Unsupported
from akg_core.lower.fold import fold, product, tiles_of
from akg_core.lower.ir import Axis, Body, Op
from akg_core.sketch.affine import INDEX
from akg_core.sketch.ast import Binary, Call, Expr, Name, Number, Type

ZERO, ONE = Number(0, type=INDEX), Number(1, type=INDEX)
_COUNT = Type(dtype="i32")
_MOST_PROGRAMS = Number(2**30)


@dataclass(slots=True)
class Programs:
    """How a region is launched. `grid`: extent and step of each axis; `members`: programs that wait for each other, 0
    where none do, -1 where only the launch knows; `persistent`: a program takes one place after the other; `opened`:
    the axes at hand, in the order in which they come.

    `before`: what finds a program's place; the last op is the loop over places of a persistent one. `places`: the
    number of its tile along each axis. `member`, `group`: its number within its cooperative group, and the group's.
    """

    grid: list[tuple[Expr, Expr]] = field(default_factory=list)
    members: int = 0
    persistent: bool = False
    opened: list[Axis] = field(default_factory=list)
    member: Name | None = None
    group: Name | None = None
    before: list[Op] = field(default_factory=list)
    places: list[Expr] = field(default_factory=list)

    @property
    def count(self) -> Expr:
        """How many programs there are."""
        return product(tiles_of(extent, step) for extent, step in self.grid)


def programs_of(body: Body, grid: Sequence[Axis], rows: int, persistent: bool) -> Programs:
    """How a grid is launched, and the place of a program in it; see `lower_to_indices`."""
    placing = _Placing(body, grid, rows)
    if grid:
        placing.find(persistent)
    return placing.programs


class _Placing:
    """`rows`: of the grid that programs walk together, where the sketch does not say. The last axis runs fastest."""

    def __init__(self, body: Body, grid: Sequence[Axis], rows: int) -> None:
        self.body, self.grid, self.rows, self.programs = body, grid, rows, Programs()
        self.hints: dict[str, Expr] = {}
        self.counts: list[Expr] = []
        self.into = self.programs.before
        self.place = grid[0].place if grid else body.kernel.place
        for axis in grid:
            self.hints |= dict(axis.hints)
            self.programs.grid.append((axis.extent, axis.tile_size))
            number = tiles_of(axis.extent, axis.tile_size)
            known = replace(number, type=_COUNT) if isinstance(number, Number) else None
            self.counts.append(known or Call("cdiv", (axis.extent, axis.tile_size), type=_COUNT))

    def find(self, persistent: bool) -> None:
        grid, counts, programs = self.grid, self.counts, self.programs
        wanted = persistent or self.hints.get("persistent") == Number(True)
        programs.persistent = wanted and not any(axis.cooperative for axis in grid)
        first: Expr = Call("program", (), type=_COUNT)
        pid = self.number("pid", _MOST_PROGRAMS)
        tiled = [n for n, count in enumerate(counts) if count != ONE]
        several = len(tiled) > 1 or any(grid[n].cooperative for n in tiled)
        if programs.persistent:
            run = first, reduce(_times, counts), Call("programs", (), type=_COUNT)
            loop = Op("range", self.place, target=self.body.values[pid.id], bounds=run, hints={"programs": ONE})
            programs.before.append(loop)
            self.into = loop.body
        elif several:
            self.into.append(Op("map", self.place, target=self.body.values[pid.id], expr=first))
        programs.places = self.run(pid if several or programs.persistent else first)
        for n, axis in enumerate(grid):
            if axis.hints.get("descending") == Number(True) and programs.places[n] != ZERO:
                last = Binary("-", counts[n], Number(1, type=_COUNT), type=_COUNT)
                programs.places[n] = Binary("-", last, programs.places[n], type=_COUNT)

    def run(self, pid: Expr) -> list[Expr]:
        grid, counts = self.grid, self.counts
        axes = [n for n, count in enumerate(counts) if count != ONE]  # along the others there is one tile
        found: list[Expr] = [ZERO] * len(counts)
        together = [n for n in axes if grid[n].cooperative]
        if len(together) > 1:
            raise Unsupported("An all-reduction along two grid axes has no form here.", "Make them one axis.")
        rest, programs = pid, self.programs
        for n in together:
            count = counts[n]
            programs.members = int(count.value) if isinstance(count, Number) else -1
            # a cooperative group is made of neighbours, so that they run at the same time
            found[n] = programs.member = self.named("member", _digit("%", pid, count), count)
            rest = programs.group = self.named("group", _digit("//", pid, count), _MOST_PROGRAMS)
            axes.remove(n)
        if len(axes) < 2 and not together:
            return [pid if n in axes else ZERO for n in range(len(counts))]
        if group := 0 if together else self.walked(axes):
            *axes, row, column = axes
            rows, columns = counts[row], counts[column]
            inner = rest
            if axes:
                total = _times(rows, columns)
                inner = self.named("pid_in", _digit("%", pid, total), total)
                rest = _digit("//", pid, total)
            size = Number(group, type=_COUNT)
            swizzled = (_digit("//", inner, columns), _digit("%", inner, columns), rows, columns, size)
            for n, op, count in ((row, "swizzled_row", rows), (column, "swizzled_column", columns)):
                found[n] = self.named(f"pid_{grid[n].name}", Call(op, swizzled, type=_COUNT), count)
        for n in reversed(axes):
            here = rest if n == axes[0] else _digit("%", rest, counts[n])
            found[n] = self.named(f"pid_{grid[n].name}", here, counts[n])
            rest = _digit("//", rest, counts[n])
        return found

    def named(self, name: str, expr: Expr, count: Expr) -> Name:
        made = self.number(name, count)
        self.into.append(Op("map", self.place, target=self.body.values[made.id], expr=expr))
        return made

    def walked(self, axes: Sequence[int]) -> int:
        """How many rows of programs go together; 0 for plain order. Programs of a product share what they load."""
        asked = self.hints.get("swizzle")
        if isinstance(asked, Number):
            return int(asked.value) if asked.value > 1 else 0
        rows = self.counts[axes[-2]]
        last = axes[-1] == len(self.counts) - 1 and axes[-2] == len(self.counts) - 2
        wide = not isinstance(rows, Number) or rows.value > self.rows // 2
        return self.rows if last and wide else 0

    def number(self, name: str, count: Expr) -> Name:
        """A new number that counts programs, from 0 to below `count`."""
        value = self.body.fresh(name, (), "i32")
        self.body.bounds.counters[value.name] = (ZERO, count if isinstance(count, Number) else _MOST_PROGRAMS)
        return Name(value.name, type=_COUNT)


def _digit(op: str, number: Expr, count: Expr) -> Expr:
    return Binary(op, number, count, type=_COUNT)


def _times(a: Expr, b: Expr) -> Expr:
    return fold(Binary("*", a, b, type=_COUNT))
