"""What every part of the printer writes with: lines and blocks, and tiles in registers or shared memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from akg_core.plugin.lower import Body, Lines, Region
from akg_core.plugin.sketch import Expr
from akg_plugin_tilelang.emit.expression import ExpressionPrinter
from akg_plugin_tilelang.emit.terms import Term
from akg_plugin_tilelang.emit.threads import threads_of


class TilePrinter:
    """Prints lines of one region and keeps its tiles.

    `order`: of the axes of tiles; `blocks`: lanes that only the launch knows; `threads`: of a program.
    """

    def __init__(self, body: Body, region: Region, order: Sequence[str]) -> None:
        self.body, self.region = body, region
        self.threads = threads_of(body, region)
        self.terms = ExpressionPrinter(body)
        self.order = [axis for axis in order if not body.axes[axis].unit]
        for name in self.order:
            whole = body.axes[name].step is None
            self.terms.lanes[name] = name if whole else body.unique(f"i_{name}")
        self.lines = self.top = Lines()
        self.held = self.top
        self.line = 0
        self.blocks: dict[str, Expr] = {}
        self.scopes: dict[str, str] = {}  # of each tile by name
        self.laid: dict[str, tuple[str, ...]] = {}  # factors whose dimensions are in an order of their own
        self.products = [op for op in region.inside() if op.kind == "dot"]
        self.on_units = False  # whether matrix units multiplied
        self.distributed: set[str] = set()  # tiles of which it is said what each thread has
        self.options: dict[str, bool] = {}  # of TileLang's passes, which the function asks for
        self.passed: dict[tuple[str, str, str], str] = {}  # tiles in shared memory by way of which others go
        self.regrouped: set[str] = set()  # tiles whose lanes went by way of shared memory

    def say(self, text: str) -> None:
        self.lines.add(text, self.line)

    def block(self, head: str) -> Lines:
        """Write the head of a block, and write inside of it from now on; returns where the block stands."""
        outside = self.lines
        self.say(head)
        self.lines = outside.nest()
        return outside

    def lanes(self, name: str) -> str:
        axis = self.body.axes[name]
        if axis.lanes is None:
            block = f"{name.upper()}_LANES"
            self.blocks[block] = axis.step or axis.extent
            return block
        return str(axis.lanes)

    def shape(self, axes: Sequence[str]) -> str:
        return f"({', '.join(map(self.lanes, axes)) or '1'}{',' if len(axes) < 2 else ''})"

    def ordered(self, axes: Iterable[str]) -> tuple[str, ...]:
        wanted = set(axes)
        return tuple(axis for axis in self.order if axis in wanted)

    def axes_of(self, name: str) -> tuple[str, ...]:
        """The dimensions of a value's tile."""
        return self.laid.get(name) or self.ordered(self.body.values[name].axes)

    def allocate(self, name: str, axes: Sequence[str], dtype: str, scope: str = "fragment") -> str:
        """A tile of a dtype of TileLang, under a name that nobody has."""
        self.scopes[name] = scope
        self.held.add(f"{name} = T.alloc_{scope}({self.shape(axes)}, {dtype!r})", self.line)
        return name

    def shared(self, name: str, axes: Sequence[str], dtype: str, more: str = "") -> str:
        """A tile in shared memory by way of which values go, with rows that are `more` long; one for all of a kind."""
        key = name, ", ".join(map(self.lanes, axes)) + more, dtype
        if key not in self.passed:
            tile = self.passed[key] = self.body.unique(name)
            self.scopes[tile] = "shared"
            self.held.add(f"{tile} = T.alloc_shared(({key[1]}), {dtype!r})", self.line)
        return self.passed[key]

    def distribute(self, tile: str, axes: Sequence[str], places: Sequence[str], thread: str, place: str) -> None:
        """Say which thread has each element of a tile in registers, and at which place, unless that has been said."""
        if tile not in self.distributed:
            self.distributed.add(tile)
            layout = f"T.Fragment({self.shape(axes)}, forward_fn=lambda {', '.join(places)}: ({thread}, {place}))"
            self.held.add(f"T.annotate_layout({{{tile}: {layout}}})", self.line)

    def each(self, axes: Sequence[str]) -> Lines:
        """Go over all lanes of these axes; returns where the loop stands."""
        if not axes:
            return self.block("for _ in T.Parallel(1):")
        names = ", ".join(self.terms.lanes[axis] for axis in axes)
        return self.block(f"for {names} in T.Parallel({', '.join(map(self.lanes, axes))}):")

    def fill(self, name: str, axes: Sequence[str], term: Term) -> None:
        """Write a term to each lane of a tile."""
        outside = self.each(axes)
        self.say(f"{self.terms.at(name, axes)} = {term}")
        self.lines = outside
