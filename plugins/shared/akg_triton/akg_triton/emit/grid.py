"""Grids as programs in one dimension: a program finds its place along each axis from its number."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from akg_core.plugin import Unsupported
from akg_core.plugin.lower import Axis, fold
from akg_core.plugin.sketch import INDEX, Binary, Expr, Name, Number
from akg_triton.emit.terms import PRODUCT, SUM, ZERO, Term, held
from akg_triton.emit.writer import Writer

ONE = Number(1, type=INDEX)


def tiles_of(extent: Expr, step: Expr) -> Expr:
    """How many tiles of `step` positions there are in `extent`."""
    past = Binary("+", extent, fold(Binary("-", step, ONE, type=INDEX)), type=INDEX)
    return fold(Binary("//", fold(past), step, type=INDEX))


class GridPrinter:
    """Prints a region's grid. `group`: rows of programs that go together where nothing else is said.

    `programs`: extent and step of each axis; `hints`: those of all axes; `members`: how many programs meet, 0 where
    none do, -1 where only the launch knows; `persistent`: a program takes one place after the other.
    """

    def __init__(self, printer: Writer, grid: Sequence[Axis], group: int, always_persistent: bool) -> None:
        self.printer, self.grid, self.most_rows, self.always_persistent = printer, grid, group, always_persistent
        self.programs: list[tuple[Expr, Expr]] = []
        self.hints: dict[str, Expr] = {}
        self.persistent, self.members = False, 0

    def print(self) -> None:
        """Find a program's place along each axis of the grid from its number."""
        if not self.grid:
            return
        counts = list[Term]()
        for axis in self.grid:
            assert axis.step is not None
            self.hints |= dict(axis.hints)
            self.programs.append((axis.extent, axis.step))
            number = tiles_of(axis.extent, axis.step)
            terms = self.printer.terms
            text = f"tl.cdiv({terms.term(axis.extent)}, {terms.term(axis.step)})"
            text = str(number.value) if isinstance(number, Number) else text
            counts.append(Term(text, "i64", narrow=True))
        self.printer.line = self.grid[0].place.line
        together = any(axis.together for axis in self.grid)
        wanted = self.always_persistent or self.hints.get("persistent") == Number(True)
        self.persistent = wanted and not together
        if self.persistent:  # a program takes one place after the other
            total = reduce(_times, counts)
            self.printer.say(f"for pid in tl.range(tl.program_id(0), {total}, tl.num_programs(0)):")
            self.printer.lines = self.printer.lines.nest()
        for axis, count, place in zip(self.grid, counts, self.places(counts), strict=True):
            self.printer.line = axis.place.line
            if axis.hints.get("descending") == Number(True) and place.text != "0":
                place = Term(f"{count.operand} - 1 - {place.operand}", "i64", rank=SUM)
            self.grid_axis(axis, place)

    def places(self, counts: list[Term]) -> list[Term]:
        """The number of the program's tile along each axis; the last axis runs fastest."""
        grid = self.grid
        axes = [n for n, count in enumerate(counts) if count.text != "1"]  # along the others there is one tile
        found = {n: Term("0", "i64") for n in range(len(counts))}
        together = [n for n in axes if grid[n].together]
        if len(together) > 1:
            raise Unsupported("Programs that meet along two axes have no form in Triton.", "Make them one axis.")
        if len(axes) < 2 and not together:
            alone = Term("pid" if self.persistent else "tl.program_id(0)", "i64")
            return [alone if n in axes else found[n] for n in range(len(counts))]
        if not self.persistent:
            self.printer.say("pid = tl.program_id(0)")
        rest = Term("pid", "i64")
        if together:
            (meeting,) = together
            self.printer.say(
                f"member = pid % {counts[meeting].operand}"
            )  # neighbours, so that they run at the same time
            self.printer.say(f"group = pid // {counts[meeting].operand}")
            self.members = int(counts[meeting].text) if counts[meeting].text.isdigit() else -1
            found[meeting], rest = Term("member", "i64"), Term("group", "i64")
            axes = [n for n in axes if n != meeting]
        group = 0 if together else self.group(counts, axes)
        if group:
            *axes, row, column = axes
            rows, columns = counts[row], counts[column]
            inner = rest
            if axes:
                total = _times(rows, columns)
                if not total.text.isdigit():
                    self.printer.say(f"pids = {total}")
                    total = Term("pids", "i64")
                self.printer.say(f"pid_in = pid % {total.operand}")
                inner = Term("pid_in", "i64")
                rest = Term(f"pid // {total.operand}", "i64", rank=PRODUCT)
            found[row], found[column] = (
                Term(self.printer.body.unique(f"pid_{grid[n].name}"), "i64") for n in (row, column)
            )
            place = f"{inner} // {columns.operand}, {inner} % {columns.operand}"
            self.printer.say(f"{found[row]}, {found[column]} = tl.swizzle2d({place}, {rows}, {columns}, {group})")
        for n in reversed(axes):
            variable, count = self.printer.body.unique(f"pid_{grid[n].name}"), counts[n].operand
            place = rest.text if n == axes[0] else f"{rest.beside('%')} % {count}"
            self.printer.say(f"{variable} = {place}")
            found[n] = Term(variable, "i64")
            rest = Term(f"{rest.beside('//')} // {count}", "i64", rank=PRODUCT)
        return [found[n] for n in range(len(counts))]

    def group(self, counts: Sequence[Term], axes: Sequence[int]) -> int:
        """How many rows of programs go together; 0 for plain order. Programs of a product share what they load."""
        hint = self.hints.get("swizzle")
        if isinstance(hint, Number):
            return int(hint.value) if hint.value > 1 else 0
        rows = counts[axes[-2]].text
        last = axes[-1] == len(counts) - 1 and axes[-2] == len(counts) - 2
        wide = not rows.isdigit() or int(rows) > self.most_rows // 2
        return self.most_rows if last and wide else 0

    def grid_axis(self, axis: Axis, place: Term) -> None:
        assert axis.step is not None
        if place.text == "0":
            self.printer.open(axis, ZERO, None, None)
            return
        narrow = self.printer.terms.fits(Name(axis.name))
        single = axis.step == ONE
        variable = axis.begin.id if isinstance(axis.begin, Name) else self.printer.body.unique(f"{axis.name}_begin")
        number = place if narrow else held(place, "tl.int64")
        size = self.printer.terms.term(axis.step)
        text = number.text if single else f"{number.beside('*')} * {size.operand}"
        self.printer.say(f"{variable} = {text}")
        self.printer.open(axis, Term(variable, "i64", narrow=narrow), None, None)


def _times(a: Term, b: Term) -> Term:
    if a.text.isdigit() and b.text.isdigit():
        return Term(str(int(a.text) * int(b.text)), "i64")
    return Term(f"{a.beside('*')} * {b.beside('*')}", "i64", rank=PRODUCT)
