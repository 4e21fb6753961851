"""The grid of a region as a T.Kernel: where a program stands along each axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from akg_core.plugin.lower import LOOSE, PRODUCT, SUM, Axis
from akg_core.plugin.sketch import Name, Number
from akg_core.plugin.tile import tiles_of
from akg_plugin_tilelang.emit.region import RegionPrinter
from akg_plugin_tilelang.emit.terms import Term, strong

TOGETHER = 8  # rows of a product's programs that run at the same time
MOST = 65535  # programs along the second dimension of a launch, and the third


def grid(printer: RegionPrinter, units: int) -> None:
    """A program for each tile of the grid; the last axis runs fastest.

    Of a persistent grid, a program for each of `units`, which takes one tile after the other.
    """
    counts: list[str] = []
    for axis in printer.region.grid:
        tiles = tiles_of(axis.extent, axis.tile_size)
        text = f"T.ceildiv({printer.terms.term(axis.extent)}, {printer.terms.term(axis.tile_size)})"
        counts.append(str(tiles.value) if isinstance(tiles, Number) else text)
    printer.line = printer.region.grid[0].place.line if printer.region.grid else 0
    places = _cooperating(printer, counts) if printer.programs else _places(printer, counts, units)
    for axis, count in zip(printer.region.grid, counts, strict=True):
        printer.line = axis.place.line
        _grid_axis(printer, axis, places.get(axis.name, Term("0", "i64", narrow=True, number=True)), count)


def _places(printer: RegionPrinter, counts: Sequence[str], units: int) -> dict[str, Term]:
    """Open the T.Kernel; the number of a program's tile along each axis that has several, the last fastest.

    Up to three dimensions save programs divisions, which those that walk together need.
    """
    left = [n for n, count in enumerate(counts) if count != "1"]
    together = _walked(printer, counts)
    if _is_persistent(printer):
        order = [*left[:-2], *left[:-3:-1]] if together == 1 else left  # few rows run fastest
        return _digits(printer, counts, _taken(printer, counts, units), order, together)
    groups = [left]
    if together <= 1:
        groups = [left[-1:], left[-2:-1], left[:-2]]
        if together and _total(counts, left[-1:]).isdigit() and int(_total(counts, left[-1:])) <= MOST:
            groups[:2] = groups[1::-1]  # few rows: all of them beside each other, for each column
        totals = [_total(counts, group) for group in groups[1:]]
        if not all(total.isdigit() and int(total) <= MOST for total in totals):
            groups = [left]
    groups = [group for group in groups if group] or [[]]
    pids = ("pid", "pid_y", "pid_z")[: len(groups)]
    launched = ", ".join(_total(counts, group) for group in groups)
    bound = f"({', '.join(pids)})" if len(pids) > 1 else "pid"
    printer.block(f"with T.Kernel({launched}, threads={printer.threads}) as {bound}:")
    printer.held = printer.lines.later()
    places: dict[str, Term] = {}
    for pid, group in zip(pids, groups, strict=True):
        places |= _digits(printer, counts, pid, group, together)
    return places


def _digits(
    printer: RegionPrinter, counts: Sequence[str], pid: str, group: Sequence[int], together: int
) -> dict[str, Term]:
    """The number of a tile along each axis of a group, by a number that counts through these, the last fastest."""
    names = [axis.name for axis in printer.region.grid]
    places, rest = dict[str, Term](), Term(pid, "i64", narrow=True)
    if together > 1:
        row, column = (names[n] for n in group[-2:])
        places[row], places[column], rest = _swizzled(printer, counts[-2:], together, pid, alone=len(group) == 2)
        group = group[:-2]
    for n in reversed(group):
        text = rest.text if n == group[0] else f"{rest.beside('%')} % {counts[n]}"
        places[names[n]] = Term(text, "i64", PRODUCT, True)
        rest = Term(f"{rest.beside('//')} // {counts[n]}", "i64", PRODUCT, True)
    return places


def _is_persistent(printer: RegionPrinter) -> bool:
    return any(axis.hints.get("persistent") == Number(True) for axis in printer.region.grid)


def _taken(printer: RegionPrinter, counts: Sequence[str], units: int) -> str:
    """Open the T.Kernel of programs that stay, and the loop over the tiles that each takes; the tile's number."""
    total = _total(counts, range(len(counts)))
    programs = min(units, int(total)) if total.isdigit() else units
    printer.block(f"with T.Kernel({programs}, threads={printer.threads}) as pid:")
    printer.held = printer.lines.later()
    turn, tile = printer.body.unique("turn"), printer.body.unique("tile")
    whole = total if total.isdigit() else f"({total})"
    printer.block(f"for {turn} in T.serial(T.ceildiv({whole} - pid, {programs})):")
    printer.say(f"{tile} = pid + {turn} * {programs}")
    return tile


def _cooperating(printer: RegionPrinter, counts: Sequence[str]) -> dict[str, Term]:
    """Open the T.Kernel of programs that wait for each other, each group of them neighbours; see `_places`."""
    assert printer.programs is not None
    total = _total(counts, range(len(counts)))
    printer.block(f"with T.Kernel({total}, threads={printer.threads}) as pid:")
    printer.held = printer.lines.later()
    printer.ops(printer.programs.before)
    found = zip(printer.region.grid, printer.programs.places, strict=True)
    return {axis.name: replace(printer.terms.term(place), dtype="i64", narrow=True) for axis, place in found}


def _total(counts: Sequence[str], group: Sequence[int]) -> str:
    """How many programs there are along some axes."""
    several = [counts[n] for n in group]
    return str(math.prod(map(int, several))) if all(c.isdigit() for c in several) else " * ".join(several)


def _walked(printer: RegionPrinter, counts: Sequence[str]) -> int:
    """How many rows of programs go together along the last two axes: those of a product share what they load.

    1: all, of which there are few.
    """
    hints = {name: hint for axis in printer.region.grid for name, hint in axis.hints.items()}
    if "1" in counts[-2:] or len(counts) < 2 or not (printer.products or "swizzle" in hints):
        return 0
    asked = hints.get("swizzle")
    if isinstance(asked, Number):
        return int(asked.value)
    return 1 if counts[-2].isdigit() and int(counts[-2]) <= TOGETHER // 2 else TOGETHER


def _swizzled(
    printer: RegionPrinter, counts: Sequence[str], together: int, pid: str, alone: bool
) -> tuple[Term, Term, Term]:
    """The row and column of a place where `together` rows are walked at once, and its place along the other axes."""
    rows, columns = counts
    first, turn = printer.body.unique("first_row"), printer.body.unique("turn")
    inner = pid if alone else f"{pid} % ({rows} * {columns})"
    even = rows.isdigit() and int(rows) % together == 0
    size = str(together) if even else f"T.min({rows} - {first}, {together})"
    printer.say(f"{first} = {inner} // ({together} * {columns}) * {together}")
    printer.say(f"{turn} = {inner} % ({together} * {columns})")
    row = Term(f"{first} + {turn} % {size}", "i64", SUM, True)
    rest = Term(f"{pid} // ({rows} * {columns})", "i64", PRODUCT, True)
    return row, Term(f"{turn} // {size}", "i64", PRODUCT, True), rest


def _grid_axis(printer: RegionPrinter, axis: Axis, place: Term, count: str) -> None:
    begin = place
    if axis.hints.get("descending") == Number(True) and place.text != "0":
        place = Term(f"{count} - 1 - {place.operand}", "i64", LOOSE, True)
    if place.text != "0":
        step = printer.terms.term(axis.tile_size)
        narrow = printer.terms.fits(Name(axis.name))
        place = place if narrow else strong(place)
        variable = axis.begin.id if isinstance(axis.begin, Name) else printer.body.unique(f"{axis.name}_begin")
        printer.say(
            f"{variable} = {place}" if step.text == "1" else f"{variable} = {place.beside('*')} * {step.operand}"
        )
        begin = Term(variable, "i64", narrow=narrow)
    extent = printer.terms.term(axis.extent)
    printer.open(axis, begin, printer.tile_end(axis, begin, extent), extent)
