"""One parallel region of a kernel as a Triton function: the grid, loops, assignments, stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from akg_core.plugin import Unsupported
from akg_core.plugin.lower import Body, Op, Region
from akg_core.plugin.resources import stages_of
from akg_core.plugin.sketch import Name, Number
from akg_core.plugin.tile import Divisors
from akg_triton.dialect import Dialect
from akg_triton.emit import bulk, combine
from akg_triton.emit.expression import ExpressionPrinter
from akg_triton.emit.grid import ONE, GridPrinter
from akg_triton.emit.meeting import Meetings
from akg_triton.emit.memory import MemoryPrinter, tensors_of
from akg_triton.emit.terms import LOOSE, ZERO, Term, cast, strong, wide
from akg_triton.emit.writer import Writer

UNROLLED = 4  # turns of a counted loop that are written out


class RegionPrinter(Writer):
    """Prints the body of one function: `stages` and `unrolled` are the most stages and turns in a row of a loop."""

    def __init__(self, body: Body, region: Region, divisors: Divisors, order: Sequence[str], dialect: Dialect) -> None:
        terms = ExpressionPrinter(body, divisors, order, dialect, lambda call: self.memory.load(call))
        super().__init__(terms)
        self.region, self.dialect = region, dialect
        blocks = bulk.described(body, region, divisors, terms) if dialect.bulk else {}
        self.memory = MemoryPrinter(terms, blocks, self.named)
        self.stages = self.unrolled = 1
        self.repeating, self.promoted = 0, False
        self.shared = _shared(region)
        self.waited = 0  # the line of the sketch for which the threads have waited for each other
        self.rest: Sequence[Op] = ()
        self.has_products = any(op.kind == "dot" for each in region.ops for op in each.inside())
        self.grid = GridPrinter(self, region.grid, dialect.group if self.has_products else 0, dialect.persistent)
        self.meetings = Meetings(self, self.grid)

    def print(self) -> None:
        regrouped = {name for op in self.body.ops() if op.kind == "regroup" for name in op.over[2:]}
        for axis in self.body.axes.values():
            if axis.step is None and axis not in self.region.grid and axis.name not in regrouped:
                self.open(axis, ZERO, None, None)
        self.grid.print()
        self.ops(self.region.ops)

    # --- statements ---

    def ops(self, ops: Sequence[Op]) -> None:
        for number, op in enumerate(ops):
            self.line, self.rest = op.place.line, ops[number + 1 :]
            self.wait_for_threads(op)
            match op.kind:
                case "tiles":
                    self.tiles(op)
                case "range":
                    self.range(op)
                case "if":
                    self.branch(op)
                case "store":
                    self.say(self.memory.store(op, self.has_products and self.repeating > 0))
                case _:
                    self.assign(op)

    def wait_for_threads(self, op: Op) -> None:
        """Wait for the program's other threads before a tensor is touched that the region both reads and writes."""
        if not (tensors_of(op) & self.shared and self.dialect.barrier):
            return
        if self.waited == op.place.line and op.place.line:  # in front of the same statement
            self.waited = 0 if op.kind == "store" else self.waited
            return
        self.say(self.dialect.barrier)
        self.waited = 0 if op.kind == "store" else op.place.line

    def assign(self, op: Op) -> None:
        assert op.target is not None
        value = op.target
        term = self.result(op)
        if value.mutable and op.kind == "map":
            term = cast(wide(strong(term)) if term.axes or not value.axes else wide(term), value.dtype)
            term = self.terms.spread(term, value.axes)
        elif set(term.axes) != set(value.axes):
            term = self.terms.spread(term, value.axes)
        if term.number and not value.mutable:
            self.terms.values[value.name] = term
            return
        self.say(f"{value.name} = {term}")
        narrow = term.narrow and not value.mutable
        self.terms.values[value.name] = Term(value.name, value.dtype, term.axes, narrow=narrow)

    def result(self, op: Op) -> Term:
        assert op.target is not None and op.expr is not None
        match op.kind:
            case "map":
                return self.terms.term(op.expr)
            case "reduce":
                return combine.reduced(self.terms, op)
            case "scan":
                return combine.scanned(self.terms, op)
            case "regroup":
                return self.regrouped(op)
            case "dot":
                return combine.multiplied(self.terms, op, self.dialect, self.promoted)
        if self.grid.members and not self.dialect.together:
            raise Unsupported(f"{op.function}: programs of this chip do not wait for each other.", "Use one program.")
        return self.meetings.met(op, self.rest, alone=not self.repeating)

    def regrouped(self, op: Op) -> Term:
        """The lanes of a tile as those of two other axes."""
        assert op.expr is not None
        wide, tall, positions, channels = op.over
        for name in (positions, channels):
            axis = self.body.axes[name]
            begin = self.terms.term(axis.begin)
            self.open(axis, begin if begin.text != "0" else ZERO, None, None)
        value = self.terms.term(op.expr)
        text = value.text if value.axes == (wide, tall) else f"tl.trans({value})"
        text = f"tl.reshape({text}, {self.terms.shape((positions, channels))})"
        axes = self.terms.ordered((positions, channels))
        return Term(text if axes == (positions, channels) else f"tl.trans({text})", value.dtype, axes)

    def tiles(self, op: Op) -> None:
        axis = op.axis
        assert axis is not None and axis.step is not None
        start, stop = (self.terms.term(bound) for bound in op.bounds)
        size, by = self.terms.term(axis.extent), self.terms.term(axis.step)
        if op.bounds[1] != axis.extent and not self.body.bounds.at_most(op.bounds[1], axis.extent):
            stop = self.terms.function("tl.minimum({0}, {1})", [stop, size], "i64")
            stop = replace(stop, narrow=stop.narrow)
        first = start
        negative = not self.terms.positive(op.bounds[0], start)
        if negative:  # tiles that end before position 0 have no positions
            start = self.named(f"{axis.name}_start", start)
            skipped = f"tl.maximum(-{start.operand}, 0) // {by.operand} * {by.operand}"
            first = self.named(f"{axis.name}_first", Term(f"{start} + {skipped}", "i64", (), LOOSE, start.narrow))
        single = axis.step == ONE and not negative
        variable = (
            axis.name
            if single
            else (
                axis.begin.id if isinstance(axis.begin, Name) and not negative else self.body.unique(f"{axis.name}_at")
            )
        )
        narrow = first.narrow and stop.narrow
        outside = self.lines
        if op.reverse:
            distance = stop.text if first.text == "0" else f"{stop.operand} - {first.operand}"
            turns = self.named(f"{axis.name}_turns", Term(f"tl.cdiv({distance}, {by})", "i64", narrow=narrow))
            counter = self.body.unique(f"{axis.name}_turn")
            head = f"for {counter} in tl.range(0, {turns}"
        else:
            bounds = f"{first}, {stop}" if first.text != "0" or by.text != "1" else f"0, {stop}"
            head = f"for {variable} in tl.range({bounds}{'' if by.text == '1' else f', {by}'}"
        self.say(f"{head}{self.options_of(op)}):")
        self.lines = outside.nest()
        if op.reverse:
            plus = "" if first.text == "0" else f"{first} + "
            self.say(f"{variable} = {plus}({turns} - 1 - {counter}) * {by.operand}")
        begin, least = Term(variable, "i64", narrow=narrow), None
        if negative:
            least = self.named(f"{axis.name}_least", Term(f"tl.maximum({variable}, 0)", "i64", narrow=narrow))
        self.open(axis, begin, least, None if op.bounds[1] == axis.extent and isinstance(axis.extent, Number) else stop)
        around, self.promoted = self.promoted, self.promoted or "promote" in op.hints
        self.repeating += 1
        self.ops(op.body)
        self.repeating -= 1
        self.lines, self.promoted = outside, around

    def range(self, op: Op) -> None:
        assert op.target is not None
        run = [self.terms.term(bound) for bound in op.bounds]
        start, stop, by = run
        numbers = [int(bound.value) for bound in op.bounds if isinstance(bound, Number)]
        options, word = "", "tl.range"
        if len(numbers) == len(run):
            turns = len(range(*numbers))
            unroll = op.hints.get("unroll")
            if turns <= UNROLLED or (isinstance(unroll, Number) and unroll.value >= turns):
                word = "tl.static_range"
        if word == "tl.range":
            options = self.options_of(op)
        bounds = f"{start}, {stop}" if start.text != "0" or by.text != "1" else f"{stop}"
        bounds += "" if by.text == "1" else f", {by}"
        self.say(f"for {op.target.name} in {word}({bounds}{options}):")
        outside, self.lines = self.lines, self.lines.nest()
        narrow = all(t.narrow for t in run)
        self.terms.values[op.target.name] = Term(op.target.name, "i64", narrow=narrow)
        self.repeating += 1
        self.ops(op.body)
        self.repeating -= 1
        self.lines = outside

    def options_of(self, op: Op) -> str:
        """The keywords of a loop's `tl.range`; what they say of stages and turns in a row is noted."""
        stages = stages_of(self.body, self.terms.order, op, self.dialect.limits)
        unroll = op.hints.get("unroll")
        turns = int(unroll.value) if isinstance(unroll, Number) else 1
        self.stages, self.unrolled = max(self.stages, stages), max(self.unrolled, turns)
        text = f", num_stages={stages}" if stages else ""
        return text + (f", loop_unroll_factor={turns}" if turns > 1 else "")

    def branch(self, op: Op) -> None:
        assert op.expr is not None
        if isinstance(op.expr, Number):
            self.ops(op.body if op.expr.value else op.orelse)
            return
        self.say(f"if {self.terms.term(op.expr)}:")
        outside = self.lines
        for ops, head in ((op.body, ""), (op.orelse, "else:")):
            if head and ops:
                self.say(head, outside)
            if ops or not head:
                self.lines = outside.nest()
                self.ops(ops)
                self.lines = outside


def _shared(region: Region) -> set[str]:
    """Tensors that the region both reads and writes."""
    ops = [op for each in region.ops for op in each.inside()]
    stored = {op.element.tensor for op in ops if op.element is not None}
    return stored & {name for op in ops for name in tensors_of(replace(op, element=None))}
