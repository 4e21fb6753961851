"""Lines of one function, the axes at hand there, and names for what is used again."""

from __future__ import annotations

from akg_core.plugin.lower import Axis, Lines
from akg_core.plugin.sketch import Expr, Name, Number
from akg_triton.emit.expression import ExpressionPrinter
from akg_triton.emit.terms import Term
from akg_triton.emit.tiles import Tile


class Writer:
    """Writes lines. `line`: that of the sketch; `blocks`: lanes that only the launch knows, by the argument's name."""

    def __init__(self, terms: ExpressionPrinter) -> None:
        self.terms, self.body = terms, terms.body
        self.lines = self.top = Lines()
        self.line = 0
        self.blocks: dict[str, Expr] = {}

    def say(self, text: str, lines: Lines | None = None) -> None:
        (lines or self.lines).add(text, self.line)

    def open(self, axis: Axis, begin: Term, first: Term | None, stop: Term | None) -> Tile:
        """Bring the tile of an axis to hand, which begins at `begin`; see `Tile`."""
        self.line = axis.place.line or self.line
        step = axis.step or axis.extent
        lanes: int | str = axis.lanes or 1
        if axis.lanes is None:
            lanes = self.body.unique(f"{axis.name.upper()}_LANES")
            self.blocks[str(lanes)] = step
        even = has_even_tiles(axis)
        limit = (lambda: stop) if stop is not None else (lambda: self.terms.term(axis.extent))
        narrow = begin.narrow and self.terms.fits(Name(axis.name))
        size = self.terms.term(step)
        exact = even and stop is None
        tile = Tile(axis, begin, first, limit, size, lanes, exact, narrow, self.lines.later(), self.line)
        self.terms.tiles[axis.name] = tile
        if axis.step is not None and isinstance(axis.begin, Name):
            self.terms.values[axis.begin.id] = first or begin
        if axis.step is not None and isinstance(axis.end, Name):
            self.terms.scalars[axis.end.id] = tile.end
        return tile

    def named(self, name: str, term: Term) -> Term:
        """The term in a variable."""
        if term.text.isidentifier() or term.text.isdigit():
            return term
        variable = self.body.unique(name)
        self.say(f"{variable} = {term}")
        return term.with_text(variable)


def has_even_tiles(axis: Axis) -> bool:
    """Whether all tiles of an axis certainly hold as many positions."""
    extent, step = axis.extent, axis.step or axis.extent
    return (
        isinstance(extent, Number) and isinstance(step, Number) and bool(step.value) and extent.value % step.value == 0
    )
