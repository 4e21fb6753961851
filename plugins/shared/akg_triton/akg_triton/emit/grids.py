"""Grids become programs in one dimension: a program finds its place along each axis from its number."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from akg_core.plugin import Unsupported
from akg_core.plugin.lower import fold
from akg_core.plugin.sketch import INDEX, Binary, Expr, Name, Number, ast
from akg_triton.emit.axes import ONE, ZERO, AxisWriter
from akg_triton.emit.source import Source
from akg_triton.emit.terms import PRODUCT, SUM, Scope, Term


def tiles_of(extent: Expr, step: Expr) -> Expr:
    """How many tiles of `step` positions there are in `extent`."""
    past = Binary("+", extent, fold(Binary("-", step, ONE, type=INDEX)), type=INDEX)
    return fold(Binary("//", fold(past), step, type=INDEX))


class GridWriter(AxisWriter):
    """Adds the place of a program. `programs`: extent and step of each grid; `hints`: those of all grids."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.grids = source.grids
        self.programs: list[tuple[Expr, Expr]] = []
        self.hints: dict[str, Expr] = {}
        self.together = [n for n, grid in enumerate(source.grids) if ("together", Number(True)) in grid.hints]
        self.persistent = False
        self.members: Term | None = None  # how many programs meet, when several do

    def programs_of(self, scope: Scope) -> None:
        """Open every grid axis."""
        counts: list[Term] = []
        for grid in self.grids:
            extent, step = (self.plain(e, scope) for e in (grid.extent, grid.step))
            self.hints |= dict(grid.hints)
            self.programs.append((extent, step))
            count = tiles_of(extent, step)
            text = f"tl.cdiv({self.size(extent)}, {self.size(step)})"
            text = str(count.value) if isinstance(count, Number) else text
            counts.append(Term(text, "i64", narrow=True, expr=count))
        if self.grids:
            self.line = self.grids[0].place.line
            wanted = self.dialect.persistent or self.hints.get("persistent") == Number(True)
            self.persistent = wanted and not self.together
            if self.persistent:  # a program takes one place after the other
                total = reduce(self.times, counts)
                self.say(f"for pid in tl.range(tl.program_id(0), {total}, tl.num_programs(0)):")
                self.lines = self.lines.nest()
            places = self.places(counts)
            for grid, sizes, number, place in zip(self.grids, self.programs, counts, places, strict=True):
                self.line = grid.place.line
                if ("descending", Number(True)) in grid.hints and place.text != "0":
                    place = Term(f"{number.operand} - 1 - {place.operand}", "i64", rank=SUM)
                self.grid_axis(grid, *sizes, place, scope)

    def places(self, counts: list[Term]) -> list[Term]:
        """The number of the program's tile along each axis; the last axis runs fastest."""
        axes = [n for n, count in enumerate(counts) if count.text != "1"]  # along the others there is one tile
        found = {n: Term("0", "i64") for n in range(len(counts))}
        together = [n for n in axes if n in self.together]
        if len(together) > 1:
            raise Unsupported("Programs that meet along two axes have no form in Triton.", "Make them one axis.")
        if len(axes) < 2 and not together:
            alone = Term("pid" if self.persistent else "tl.program_id(0)", "i64")
            return [alone if n in axes else found[n] for n in range(len(counts))]
        if not self.persistent:
            self.say("pid = tl.program_id(0)")
        rest = Term("pid", "i64")
        if together:
            (meeting,) = together
            self.members = counts[meeting]
            self.taken |= {"member", "group", "arrived"}
            self.say(f"member = pid % {counts[meeting].operand}")  # neighbours, so that they run at the same time
            self.say(f"group = pid // {counts[meeting].operand}")
            found[meeting], rest = Term("member", "i64"), Term("group", "i64")
            axes = [n for n in axes if n != meeting]
        group = 0 if together else self.group(counts, axes)
        if group:
            *axes, row, column = axes
            rows, columns = counts[row], counts[column]
            inner = rest
            if axes:
                total = self.named("pids", self.times(rows, columns))
                inner = self.named("pid_in", Term(f"pid % {total.operand}", "i64", rank=PRODUCT))
                rest = Term(f"pid // {total.operand}", "i64", rank=PRODUCT)
            found[row], found[column] = (Term(self.fresh(f"pid_{self.grids[n].axis}"), "i64") for n in (row, column))
            place = f"{inner} // {columns.operand}, {inner} % {columns.operand}"
            self.say(f"{found[row]}, {found[column]} = tl.swizzle2d({place}, {rows}, {columns}, {group})")
        for n in reversed(axes):
            variable, count = self.fresh(f"pid_{self.grids[n].axis}"), counts[n].operand
            place = rest.text if n == axes[0] else f"{rest.beside('%')} % {count}"
            self.say(f"{variable} = {place}")
            found[n] = Term(variable, "i64")
            rest = Term(f"{rest.beside('//')} // {count}", "i64", rank=PRODUCT)
        return [found[n] for n in range(len(counts))]

    def times(self, a: Term, b: Term) -> Term:
        if a.text.isdigit() and b.text.isdigit():
            return Term(str(int(a.text) * int(b.text)), "i64")
        return Term(f"{a.beside('*')} * {b.beside('*')}", "i64", rank=PRODUCT)

    def group(self, counts: Sequence[Term], axes: Sequence[int]) -> int:
        """How many rows of programs go together; 0 for plain order. Programs of a product share what they load."""
        hint = self.hints.get("swizzle")
        if isinstance(hint, Number):
            return int(hint.value) if hint.value > 1 else 0
        rows = counts[axes[-2]].text
        last = axes[-1] == len(counts) - 1 and axes[-2] == len(counts) - 2
        wide = not rows.isdigit() or int(rows) > self.dialect.group // 2
        return self.dialect.group if self.contracted and last and wide else 0

    def grid_axis(self, grid: ast.Grid, extent: Expr, step: Expr, place: Term, scope: Scope) -> None:
        tile = self.tile_name(grid.axis, step, extent)
        self.extents[tile] = extent
        narrow = self.fits(Name(tile))
        partial = not self.even(extent, step) and not self.once(extent, step)
        if place.text == "0":
            begin = Term("0", "i64", narrow=narrow, expr=ZERO)
            self.open(grid.axis, scope, extent, step, begin, None, partial)
            return
        single = self.lanes_once(step)
        variable = tile if single else self.local(f"{tile}_begin")
        number = place if narrow else self.cast(place, "tl.int64")
        self.say(
            f"{variable} = {number}" if single else f"{variable} = {number.beside('*')} * {self.size(step).operand}"
        )
        self.counters[variable] = (ZERO, extent)
        self.multiples[variable] = self.multiple(step)
        begin = Term(variable, "i64", narrow=narrow, expr=Name(variable, type=INDEX))
        self.open(grid.axis, scope, extent, step, begin, None, partial)
