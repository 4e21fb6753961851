"""Names and axes: a tile's positions, its lanes, and which of them exist, each written where it is first needed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from akg_core.plugin.lower import Lines, fold
from akg_core.plugin.sketch import INDEX, Binary, Call, Expr, Name, Number, ast, is_float
from akg_triton.emit.matrix import LEAST, MatrixWriter
from akg_triton.emit.source import Source
from akg_triton.emit.terms import ATOM, SUM, Axis, Scope, Term
from akg_triton.emit.words import RESERVED

ZERO, ONE = Number(0, type=INDEX), Number(1, type=INDEX)
START = Term("0", "i64", narrow=True, expr=ZERO)


class AxisWriter(MatrixWriter):
    """Adds axes. `contracted`: those of the sketch that a product of matrices sums over."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        tensors = {t.name for t in source.instance.kernel.tensors}
        self.lines = Lines()
        self.top = self.lines
        self.taken = {*RESERVED, *tensors, *self.bounds.dimensions}
        self.names: dict[tuple[str, object], str] = {}
        self.multiples: dict[str, int] = {}
        self.blocks: dict[str, Expr] = {}
        self.contracted = _contracted(source.body)

    # --- names ----------------------------------------------------------------------------------------

    def local(self, name: str, kind: object = ()) -> str:
        """The Python name of what the sketch calls `name`.

        A name that the sketch uses again for something of another type gets another: to Triton, a variable that was
        there before a loop keeps its type inside.
        """
        if (name, kind) not in self.names:
            self.names[name, kind] = self.fresh(name)
        return self.names[name, kind]

    def fresh(self, name: str) -> str:
        chosen, number = name, 2
        while chosen in self.taken:
            chosen, number = f"{name}{number}" if not name[-1:].isdigit() else f"{name}_{number}", number + 1
        self.taken.add(chosen)
        return chosen

    def say(self, text: str, lines: Lines | None = None) -> None:
        (lines or self.lines).add(text, self.line)

    def named(self, name: str, term: Term, same: str = "") -> Term:
        if term.text.isidentifier() or term.text.isdigit():
            return term
        key = (self.lines, same or term.text)
        if self.repeated is not None and key in self.repeated:
            return self.repeated[key]
        variable = self.fresh(name)
        self.say(f"{variable} = {term}")
        made = replace(term, text=variable, rank=ATOM)
        if self.repeated is not None:
            self.repeated[key] = made
        return made

    # --- axes -----------------------------------------------------------------------------------------

    def tile_name(self, name: str, step: Expr, extent: Expr) -> str:
        return self.local(name, (step, extent if isinstance(extent, Number) else None))

    def lanes(self, name: str, axis: str, step: Expr, extent: Expr) -> tuple[int | str, bool]:
        """Lanes of a tile of `step` positions, and whether all of them are positions of the step."""
        low = LEAST if name in self.contracted else 1
        sizes = [int(e.value) for e in (step, extent) if isinstance(e, Number)]
        if not isinstance(step, Number):
            argument = self.local(f"{axis.upper()}_LANES", step)
            self.blocks[argument] = step
            return argument, False
        exact = min(sizes) if isinstance(extent, Number) else sizes[0]
        if exact == 0:
            return 2, False
        if exact <= 1:
            return 1, True
        lanes = max(1 << (exact - 1).bit_length(), low)
        return lanes, lanes == exact

    def open(
        self,
        name: str,
        scope: Scope,
        extent: Expr,
        step: Expr,
        begin: Term,
        stop: Term | None,
        partial: bool,
        first: Term | None = None,
    ) -> Axis:
        """A new axis in the scope. `begin`: the variable or number at which its tile starts; `first`: the least
        position when that may lie after `begin`."""
        tile = self.tile_name(name, step, extent)
        block, full = self.lanes(name, tile, step, extent)
        self.extents[tile] = extent
        narrow = begin.narrow and self.fits(Name(tile))
        place = self.lines.later()
        made: dict[str, Term] = {}
        line = self.line
        partial = partial or not full
        size = self.term(step, Scope())

        def limit() -> Term:
            return stop if stop is not None else self.term(extent, Scope())

        def end() -> Term:
            if "end" not in made:
                past = f"{begin.operand} + {size.operand}" if begin.text != "0" else size.text
                if not (isinstance(extent, Number) and self.even(extent, step) and stop is None):
                    past = f"tl.minimum({past}, {limit()})"
                variable = self.local(f"{tile}_end")
                place.add(f"{variable} = {past}", line)
                self.counters[variable] = (ZERO, fold(Binary("+", extent, ONE, type=INDEX)))
                parts = (self.multiple(begin.expr), self.multiple(step), self.multiple(limit().expr))
                self.multiples[variable] = self.multiple(step) if not partial else math.gcd(*parts)
                made["end"] = Term(variable, "i64", narrow=narrow, expr=Name(variable, type=INDEX))
            return made["end"]

        def positions() -> Term:
            if "at" not in made:
                text = f"tl.arange(0, {block})"
                if block == 1:
                    text = begin.text
                elif begin.text != "0":
                    text = f"{begin.operand} + {text}"
                if tile in self.source.single and block != 1:
                    text = f"tl.max_contiguous({text}, 1)"
                if text != tile:
                    place.add(f"{tile} = {text}", line)
                made["at"] = Term(
                    tile, "i64", (tile,) if block != 1 else (), narrow=narrow, expr=Name(tile, type=INDEX)
                )
            return made["at"]

        def mask() -> str:
            if "mask" not in made:
                at = positions()
                last = limit().operand
                if not full and not (isinstance(step, Number) and self.once(extent, step)) and step != extent:
                    last = end().text
                conditions = [f"{at} < {last}"] + ([f"{at} >= {first}"] if first is not None else [])
                variable = self.local(f"{tile}_in")
                text = conditions[0] if len(conditions) == 1 else " & ".join(f"({c})" for c in conditions)
                place.add(f"{variable} = {text}", line)
                made["mask"] = Term(variable, "bool", (tile,))
            return made["mask"].text

        axis = Axis(tile, extent, first or begin, end, positions, mask, block, partial and block != 1)
        scope.axes[name] = self.axes[tile] = axis
        scope.values.pop(name, None)
        self.ordered([tile])
        return axis

    # --- proofs ---------------------------------------------------------------------------------------

    def even(self, extent: Expr, step: Expr) -> bool:
        return isinstance(extent, Number) and isinstance(step, Number) and extent.value % step.value == 0

    def once(self, extent: Expr, step: Expr) -> bool:
        return isinstance(extent, Number) and isinstance(step, Number) and extent.value <= step.value

    def lanes_once(self, step: Expr) -> bool:
        return isinstance(step, Number) and step.value == 1

    def multiple(self, expr: Expr | None) -> int:
        """A number that divides an index expression for certain; 0 divides nothing but 0."""
        if isinstance(expr, Number):
            return abs(int(expr.value))
        if isinstance(expr, Name):
            return self.multiples.get(expr.id, 1)
        if isinstance(expr, Binary) and expr.op in ("+", "-", "*"):
            a, b = self.multiple(expr.left), self.multiple(expr.right)
            return a * b if expr.op == "*" else math.gcd(a, b)
        return 1

    def run(self, axis: str) -> Expr | None:
        tile = self.axes[axis]
        if not isinstance(tile.block, int) or tile.begin.expr is None:
            return None
        return Number(tile.block) if self.multiple(tile.begin.expr) % tile.block == 0 else None

    def counting(self, expr: Expr | None) -> tuple[Term, int, int] | None:
        """Where the positions that `expr` counts up from start in the tile at hand, how many there are, and what
        divides the start: `k`, or `k % 64` where no tile of k crosses a multiple of 64."""
        if isinstance(expr, Name) and expr.id in self.axes:
            axis = self.axes[expr.id]
            return (axis.begin, axis.block, self.multiple(axis.begin.expr)) if isinstance(axis.block, int) else None
        if not (isinstance(expr, Binary) and expr.op == "%" and isinstance(expr.right, Number)):
            return None
        found = self.counting(expr.left)
        if found is None:
            return None
        start, lanes, factor = found
        factor = math.gcd(factor, int(expr.right.value))
        return (
            (super().whole("%", [start, self.size(expr.right)], "i64"), lanes, factor) if factor % lanes == 0 else None
        )

    def whole(self, op: str, pair: list[Term], dtype: str) -> Term:
        """Digits of a tile that lies between two multiples of the divisor: one quotient, remainders that count up."""
        left, right = pair
        found = self.counting(left.expr) if op in ("//", "%") and left.axes else None
        if found is None or left.expr is None or not isinstance(right.expr, Number):
            return super().whole(op, pair, dtype)
        start, lanes, factor = found
        if math.gcd(factor, int(right.expr.value)) % lanes:
            return super().whole(op, pair, dtype)
        made = super().whole(op, [start, right], dtype)
        expr = fold(Binary(op, left.expr, right.expr, type=INDEX))
        if op == "//":
            return replace(made, expr=expr)
        first = f"tl.multiple_of({made}, {lanes})"  # Triton knows no divisor of a remainder
        return replace(made, text=f"{first} + tl.arange(0, {lanes})", axes=left.axes, rank=SUM, expr=expr)

    def plain(self, expr: Expr, scope: Scope) -> Expr:
        """A size known at launch, over the names of dimensions."""
        term = self.term(expr, scope)
        assert term.expr is not None, f"not known at launch: {expr}"
        return term.expr


def _contracted(body: Sequence[ast.Statement]) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tuple(body)):
        if isinstance(node, Call) and node.op == "dot":
            a, b = (e.type.axes if e.type else frozenset() for e in node.args)
            floats = all(e.type is not None and is_float(e.type.dtype) for e in node.args)
            if a - b and b - a and floats:
                over = dict(node.keywords)["over"]
                found |= {n.id for n in ast.walk(over) if isinstance(n, Name)}
                found |= set(over.axes) if isinstance(over, ast.AxisList) else set()
    return found
