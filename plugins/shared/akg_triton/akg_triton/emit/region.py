"""One parallel region of a kernel as a Triton function: loops, assignments, stores."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from akg_core.plugin.lower import PRODUCT, SUM, Body, Lines, Op, Region
from akg_core.plugin.sketch import Element, Name, Number, is_integer, walk
from akg_core.plugin.tile import Divisors, Programs, waits
from akg_triton.dialect import Dialect
from akg_triton.emit import combine
from akg_triton.emit.expression import ExpressionPrinter
from akg_triton.emit.memory import MemoryPrinter
from akg_triton.emit.terms import Term, cast, held, strong, wide


class RegionPrinter:
    """Prints the body of one function. `line`: that of the sketch at hand; `repeating`: loops around; `threads`: of a
    program; `loose`: the divisions, by `id`, that may be an ulp off.
    """

    def __init__(
        self,
        body: Body,
        region: Region,
        divisors: Divisors,
        order: Sequence[str],
        dialect: Dialect,
        programs: Programs,
        threads: int,
        loose: Collection[int],
    ) -> None:
        self.terms = ExpressionPrinter(body, divisors, order, dialect, lambda call: self.memory.load(call), loose)
        self.body, self.region, self.dialect, self.programs = body, region, dialect, programs
        self.threads = threads
        self.lines = self.top = Lines()
        self.line = 0
        self.memory = MemoryPrinter(self.terms, self.named)
        self.repeating, self.promoted = 0, False
        self.shared, self.waits = region.updated() - set(body.workspace), waits(region)
        self.waited = 0  # the line of the sketch for which the threads have waited for each other
        self.has_products = any(op.kind == "dot" for op in region.inside())

    def print(self) -> None:
        for axis in self.programs.opened:
            if axis.lanes is None and axis.name not in self.terms.blocks:
                self.terms.blocks[axis.name] = self.body.unique(f"{axis.name.upper()}_LANES")
        self.ops(self.region.ops)

    def emit(self, text: str, lines: Lines | None = None) -> None:
        (lines or self.lines).add(text, self.line)

    def named(self, name: str, term: Term) -> Term:
        """The term in a variable."""
        if term.text.isidentifier() or term.text.isdigit():
            return term
        variable = self.body.unique(name)
        self.emit(f"{variable} = {term}")
        return term.with_text(variable)

    # --- statements ---

    def ops(self, ops: Sequence[Op]) -> None:
        for op in ops:
            self.line = op.place.line or self.line
            self.wait_for_threads(op)
            match op.kind:
                case "range":
                    self.range(op)
                case "if":
                    self.branch(op)
                case "wait":
                    self.wait(op)
                case "store":
                    passes_by = self.has_products and self.repeating > 0
                    self.emit(self.memory.store(op, passes_by, self.has_products and self.dialect.whole_masks))
                case _:
                    self.assign(op)

    def wait(self, op: Op) -> None:
        """Wait for the other programs of the group."""
        self.terms.needs.add("grid_barrier")
        counter, _ = self.memory.pointer(op.destination, None)
        self.emit(f"grid_barrier({counter}, {self.terms.term(op.bounds[0])})")

    def wait_for_threads(self, op: Op) -> None:
        """Wait for the program's other threads before a tensor is touched that the region both reads and writes, or is
        written in another way than before."""
        if not ((op in self.waits or op.touches() & self.shared) and self.dialect.barrier):
            return
        if self.waited == op.place.line and op.place.line:  # in front of the same statement
            self.waited = 0 if op.kind == "store" else self.waited
            return
        self.emit(self.dialect.barrier)
        self.waited = 0 if op.kind == "store" else op.place.line

    def assign(self, op: Op) -> None:
        value = op.result
        term = self.result(op)
        if value.mutable and op.kind == "map":
            term = cast(wide(strong(term)) if term.axes or not value.axes else wide(term), value.dtype)
            term = self.terms.spread(term, value.axes)
        elif set(term.axes) != set(value.axes):
            term = self.terms.spread(self.spreadable(op, term), value.axes)
        if term.number and not value.mutable:
            self.terms.values[value.name] = term
            return
        self.emit(f"{value.name} = {term}")
        narrow = term.narrow and not value.mutable
        self.terms.values[value.name] = Term(value.name, value.dtype, term.axes, narrow=narrow)

    def spreadable(self, op: Op, term: Term) -> Term:
        """The term of what is to have more lanes than it has: an index may not be the same number in all of them where
        compilers take addresses apart by their lanes."""
        whole = op.kind == "map" and not term.number and is_integer(term.dtype)
        if self.dialect.lane_offsets or not whole or any(isinstance(n, Element) for n in walk(op.operand)):
            return term
        return self.terms.in_each_lane(op.operand)

    def result(self, op: Op) -> Term:
        combined = {"reduce": combine.reduced, "scan": combine.scanned}
        if op.kind == "map":
            return self.terms.term(op.operand)
        if op.kind == "dot":
            return combine.multiplied(self.terms, op, self.dialect, self.promoted)
        if op.kind in combined:
            return combined[op.kind](self.terms, op)
        if op.kind == "sort":
            return combine.ordered(self.terms, op, self.threads)
        own = {"positions": self.positions, "begin": self.begin, "end": self.end, "regroup": self.regrouped}
        return own[op.kind](op)

    def positions(self, op: Op) -> Term:
        axis = op.tiled
        begin, text = self.terms.term(op.operand), f"tl.arange(0, {self.terms.lanes(axis.name)})"
        text = text if begin.text == "0" else f"{begin.operand} + {text}"
        narrow = begin.narrow and (begin.number or self.body.bounds.fits_i32(Name(axis.name)))
        return Term(text, "i64", (axis.name,), SUM, narrow)

    def begin(self, op: Op) -> Term:
        place, size = self.terms.term(op.operand), self.terms.term(op.tiled.tile_size)
        narrow = self.body.bounds.fits_i32(Name(op.tiled.name))
        number = place if narrow else held(place, "tl.int64")
        text = f"{number.beside('*')} * {size.operand}" if size.text != "1" else number.text
        return Term(text, "i64", (), PRODUCT, narrow)

    def end(self, op: Op) -> Term:
        axis, begin = op.tiled, self.terms.term(op.operand)
        past = self.terms.joined("+", [begin, self.terms.term(axis.step or axis.extent)], "i64")
        if op.other is not None:
            past = self.terms.function("tl.minimum({0}, {1})", [past, self.terms.term(op.other)], "i64")
        return replace(past, narrow=begin.narrow and self.body.bounds.fits_i32(Name(axis.name)))

    def regrouped(self, op: Op) -> Term:
        """The lanes of a tile as those of two other axes."""
        wide, tall, *made = op.over
        value = self.terms.term(op.operand)
        text = value.text if value.axes == (wide, tall) else f"tl.trans({value})"
        text = f"tl.reshape({text}, {self.terms.shape(made)})"
        axes = self.terms.ordered(made)
        return Term(text if axes == tuple(made) else f"tl.trans({text})", value.dtype, axes)

    def range(self, op: Op) -> None:
        start, stop, by = run = [self.terms.term(bound) for bound in op.bounds]
        unroll, stages = op.hints.get("unroll"), op.hints.get("stages")
        turns = int(unroll.value) if isinstance(unroll, Number) else 1
        options = f", num_stages={int(stages.value)}" if isinstance(stages, Number) and stages.value else ""
        options += f", loop_unroll_factor={turns}" if turns > 1 else ""
        if any(inner.kind == "wait" for inner in op.inside()):
            options = ", num_stages=1"  # nothing is loaded before the others have stored it
        word = "tl.range"
        if "unrolled" in op.hints:
            word, options = "tl.static_range", ""
        bounds = f"{start}, {stop}" if start.text != "0" or by.text != "1" else f"{stop}"
        bounds += "" if by.text == "1" else f", {by}"
        self.emit(f"for {op.result.name} in {word}({bounds}{options}):")
        narrow = op.result.dtype == "i64" and all(t.narrow for t in run)
        self.terms.values[op.result.name] = Term(op.result.name, op.result.dtype, narrow=narrow)
        outside, self.lines = self.lines, self.lines.nest()
        around = self.repeating, self.promoted
        self.repeating += "programs" not in op.hints
        self.promoted = self.promoted or "promote" in op.hints
        self.ops(op.body)
        self.lines, (self.repeating, self.promoted) = outside, around

    def branch(self, op: Op) -> None:
        if isinstance(op.operand, Number):
            self.ops(op.body if op.operand.value else op.orelse)
            return
        if not (op.orelse or self.dialect.branches) and any(inner.kind == "dot" for inner in op.inside()):
            turns = f"tl.where({self.terms.term(op.operand)}, 1, 0)"  # a loop of one turn or none
            self.emit(f"for {self.body.unique('taken')} in tl.range(0, {turns}):")
        else:
            self.emit(f"if {self.terms.term(op.operand)}:")
        outside = self.lines
        for ops, head in ((op.body, ""), (op.orelse, "else:")):
            if head and ops:
                self.emit(head, outside)
            if ops or not head:
                self.lines = outside.nest()
                self.ops(ops)
                self.lines = outside
