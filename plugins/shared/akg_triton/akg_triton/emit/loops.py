"""Loops: tile by tile or turn by turn, pipelined as far as shared memory goes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from akg_core.plugin.lower import Lines, fold
from akg_core.plugin.sketch import INDEX, Binary, Call, Expr, Name, Number, ast
from akg_triton.emit.axes import ONE, START, ZERO
from akg_triton.emit.grids import GridWriter
from akg_triton.emit.lanes import kept
from akg_triton.emit.memory import Visit, identity
from akg_triton.emit.order import gathers
from akg_triton.emit.room import Factors, stages_that_fit
from akg_triton.emit.source import Source
from akg_triton.emit.terms import ATOM, LOOSE, SLOT, SUM, Axis, Scope, Term
from akg_triton.emit.windows import at_position
from akg_triton.signature import TRITON

WIDE = 64  # results of a tile that are summed within threads, of which each has some of its own
UNROLLED = 4  # turns of a counted loop that are written out


class LoopWriter(GridWriter):
    """Adds loops and branches. `stages`, `unrolled`: the most stages, and turns in a row, that a loop has."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.stages = 1
        self.unrolled = 1
        self.repeating = 0  # loops around

    def statements(self, body: Sequence[ast.Statement], scope: Scope) -> None:
        """Statements of one block, in the scope of that block."""
        raise NotImplementedError

    def meet(self, node: object) -> None:
        """Say that the program's threads must wait for each other before `node`, where they must."""
        raise NotImplementedError

    def tiles(self, node: ast.Tiles, scope: Scope) -> None:
        extent, step = self.plain(node.extent, scope), self.plain(node.step, scope)
        inner = scope.inner()
        start = self.term(node.start, scope) if node.start is not None else START
        stop = self.term(node.stop, scope) if node.stop is not None else None
        rows = self.rows(node, scope)
        if rows is not None:
            self.written_rows(node, scope, rows)
            return
        if self.once(extent, step) and node.start is None and stop is None:
            self.open(node.axis, inner, extent, step, START, None, False)
            self.turn(node.body, scope, inner)
            return
        size = self.term(extent, Scope())
        if stop is None:
            stop = size
        elif not (stop.expr is not None and self.bounds.at_most(stop.expr, extent)):
            stop = self.function("tl.minimum({0}, {1})", [stop, size], "i64")
        aligned = math.gcd(self.multiple(start.expr), self.multiple(stop.expr)) % max(self.multiple(step), 1) == 0
        partial = not (isinstance(step, Number) and aligned)
        negative = not self.positive(start)
        by = self.term(step, Scope())
        if negative:  # tiles that end before position 0 have no positions
            start = self.named(f"{node.axis}_start", start)
            skipped = f"tl.maximum(-{start.operand}, 0) // {by.operand} * {by.operand}"
            first = self.named(
                f"{node.axis}_first", Term(f"{start} + {skipped}", "i64", (), LOOSE, narrow=start.narrow)
            )
        else:
            first = start
        self.loop(node, scope, inner, (extent, step), (first, stop, by), partial, negative)

    def rows(self, node: ast.Tiles, scope: Scope) -> Axis | None:
        """The axis of the grid whose tile a loop goes through position by position, when that is to be written out."""
        unroll = dict(node.hints).get("unroll")
        ends = (node.start, node.stop)
        if node.step != Number(1) or node.reverse or not isinstance(unroll, Number):
            return None
        if not all(isinstance(e, Call) and e.op == op for e, op in zip(ends, ("begin", "end"), strict=True)):
            return None
        (first,), (last,) = (e.args for e in ends if isinstance(e, Call))
        axis = self.axis(first, scope)
        known = isinstance(axis.block, int) and 1 < axis.block <= int(unroll.value)
        return axis if first == last and known else None

    def written_rows(self, node: ast.Tiles, scope: Scope, rows: Axis) -> None:
        """Each position of a tile after the other; what several of them read is loaded once."""
        extent = self.plain(node.extent, scope)
        outermost, self.repeated = self.repeated is None, self.repeated if self.repeated is not None else {}
        assert isinstance(rows.block, int)
        for number in range(rows.block):
            inner = scope.inner()
            counter = self.fresh(f"{node.axis}_{number}")
            self.counters[counter] = (Number(number, type=INDEX), extent)
            text = f"{rows.begin.operand} + {number}" if number else rows.begin.text
            narrow = rows.begin.narrow
            here = Term(text, "i64", (), SUM if number else ATOM, narrow=narrow, expr=Name(counter, type=INDEX))
            inner.axes[node.axis] = at_position(rows, here)
            inner.values.pop(node.axis, None)
            exists = [Term(f"{text} < {self.size(extent)}", "bool", (), LOOSE)] if number and rows.partial else []
            self.guards += exists
            self.turn(node.body, scope, inner)
            self.guards = self.guards[: len(self.guards) - len(exists)]
        if outermost:
            self.repeated = None

    def loop(
        self,
        node: ast.Tiles,
        scope: Scope,
        inner: Scope,
        sizes: tuple[Expr, Expr],
        run: tuple[Term, Term, Term],
        partial: bool,
        negative: bool,
    ) -> None:
        extent, step = sizes
        first, stop, by = run
        tile = self.tile_name(node.axis, step, extent)
        single = self.lanes_once(step) and not negative
        variable = tile if single else self.local(f"{tile}_begin")
        self.counters[variable] = (ZERO, extent)
        self.multiples[variable] = math.gcd(self.multiple(first.expr), self.multiple(step))
        narrow = first.narrow and stop.narrow
        outside = self.lines
        if node.reverse:
            turns = self.named(f"{tile}_turns", Term(f"tl.cdiv({self.minus(stop, first)}, {by})", "i64", narrow=narrow))
            counter = self.fresh(f"{tile}_turn")
            head = f"for {counter} in {{}}(0, {turns}{{}}):"
        else:
            bounds = f"{first}, {stop}" if first.text != "0" or by.text != "1" else f"0, {stop}"
            head = f"for {variable} in {{}}({bounds}{'' if by.text == '1' else f', {by}'}{{}}):"
        place = outside.later()
        line = self.line
        self.lines = outside.nest()
        if node.reverse:
            self.say(f"{variable} = {_plus(first.text)}({turns} - 1 - {counter}) * {by.operand}")
        begin = Term(variable, "i64", narrow=narrow, expr=Name(variable, type=INDEX))
        least = None
        if negative:
            least = self.named(f"{tile}_least", Term(f"tl.maximum({variable}, 0)", "i64", narrow=narrow))
        limit = None if isinstance(stop.expr, Number) and stop.expr == extent else stop
        self.open(node.axis, inner, extent, step, begin, limit, partial or negative, least)
        mark, products = len(self.visits), len(self.factors)
        held, self.promoted = self.promoted, self.promoted or any(k == "promote" for k, _ in node.hints)
        lanes = self.apart(node, scope, inner, place)
        self.repeating += 1
        self.turn(node.body, scope, inner)
        self.repeating -= 1
        self.promoted = held
        self.lines = outside
        self.fold(lanes, scope, self.axes[tile])
        made = self.factors[products:]
        options = self.options_of(dict(node.hints), node.body, self.visits[mark:], tile, made)
        place.add(head.format("tl.range", options), line)

    def apart(self, node: ast.Tiles, scope: Scope, inner: Scope, place: Lines) -> dict[str, tuple[str, Term]]:
        """Give carried variables that allow it a value for each lane of the loop's axis, started at `place`."""
        axis = inner.axes[node.axis]
        changed = assigned(node)
        slots = [name for name, term in scope.values.items() if name in changed and term.fill == SLOT]
        found = kept(node, slots)
        count = sum(self.lanes_of((*scope.values[s].axes, axis.name)) for s in found.slots)
        staged = any(name == "stages" for name, _ in node.hints)  # whose lanes of their own fill the threads
        wide = staged and all(self.lanes_of(scope.values[s].axes) >= WIDE for s in found.slots)
        if axis.unit or wide or count > self.dialect.register_elements * self.dialect.most_warps:
            return {}
        self.unfolded |= found.calls
        lanes = {}
        for slot, op in found.slots.items():
            term = scope.values[slot]
            axes = self.ordered([*term.axes, axis.name])
            shape = ", ".join(str(self.axes[a].block) for a in axes)
            variable = self.fresh(f"{slot}_lanes")
            place.add(f"{variable} = tl.full([{shape}], {identity(op, term.dtype)}, {TRITON[term.dtype]})", self.line)
            inner.values[slot] = Term(variable, term.dtype, axes, fill=SLOT)
            lanes[slot] = (op, inner.values[slot])
        return lanes

    def fold(self, lanes: dict[str, tuple[str, Term]], scope: Scope, axis: Axis) -> None:
        """After the loop, what all lanes have joins what was there before."""
        for slot, (op, term) in lanes.items():
            before, made = scope.values[slot], self.folded(op, term, [axis])
            both = self.joined("+", [before, made], before.dtype) if op == "sum" else None
            both = both or self.elementwise({"max": "maximum", "min": "minimum"}[op], [before, made], before.dtype)
            self.say(f"{before} = {both}")

    def lanes_of(self, axes: Sequence[str], unknown: int = 1024) -> int:
        """Elements of a tile along `axes`, with so many for what only the launch knows."""
        blocks = [self.axes[a].block for a in axes if a in self.axes]
        return math.prod(block if isinstance(block, int) else unknown for block in blocks)

    def options_of(
        self,
        hints: dict[str, Expr],
        body: Sequence[ast.Statement] = (),
        visits: Sequence[Visit] = (),
        axis: str = "",
        factors: Sequence[Factors] = (),
    ) -> str:
        """The keywords of `tl.range`: stages as far as they fit into shared memory, and unrolling."""
        options = ""
        products = any(isinstance(n, Call) and n.op == "dot" for n in ast.walk(tuple(body)))
        wanted = hints.get("stages")
        stages = int(wanted.value) if isinstance(wanted, Number) else 0
        if not stages and products:  # a gather is better prefetched by many warps than by stages
            stages = 1 if gathers(visits, self.order) else self.dialect.stages
        if stages:
            loaded = sum(self.bytes_of(visit) for visit in visits if not visit.stores and len(visit.axes) > 1)
            stages = stages_that_fit(stages, loaded, axis, factors, self.lanes_of, self.dialect.shared_bytes)
            options += f", num_stages={stages}"
            self.stages = max(self.stages, stages)
        unroll = hints.get("unroll")
        if isinstance(unroll, Number) and unroll.value > 1:
            options += f", loop_unroll_factor={int(unroll.value)}"
            self.unrolled = max(self.unrolled, int(unroll.value))
        return options

    def bytes_of(self, visit: Visit) -> int:
        return visit.size * self.lanes_of(visit.axes)

    def turn(self, body: Sequence[ast.Statement], scope: Scope, inner: Scope) -> None:
        """The body of a loop or a branch; names that it made end with it."""
        self.depth += 1
        self.statements(body, inner)
        self.depth -= 1

    def minus(self, a: Term, b: Term) -> str:
        return a.text if b.text == "0" else f"{a.operand} - {b.operand}"

    def range(self, node: ast.Range, scope: Scope) -> None:
        run = [self.term(e, scope) for e in (node.start, node.stop, node.step)]
        variable = self.local(node.variable)
        inner = scope.inner()
        start, stop, by = run
        options, word = "", "tl.range"
        numbers = [int(t.expr.value) for t in run if isinstance(t.expr, Number)]
        narrow = all(t.narrow for t in run)
        if isinstance(by.expr, Number) and start.expr is not None and stop.expr is not None:
            up = by.expr.value > 0
            past = Binary("+", start.expr, ONE, type=INDEX), Binary("+", stop.expr, ONE, type=INDEX)
            low, high = (start.expr, stop.expr) if up else (fold(past[1]), fold(past[0]))
            self.counters[variable] = (low, high)
        if len(numbers) == len(run):
            turns = len(range(*numbers))
            unroll = dict(node.hints).get("unroll")
            if turns <= UNROLLED or (isinstance(unroll, Number) and unroll.value >= turns):
                word = "tl.static_range"
        if word == "tl.range":
            options = self.options_of(dict(node.hints))
        bounds = f"{start}, {stop}" if start.text != "0" or by.text != "1" else f"{stop}"
        if by.text != "1":
            bounds += f", {by}"
        self.say(f"for {variable} in {word}({bounds}{options}):")
        outside, self.lines = self.lines, self.lines.nest()
        inner.values[node.variable] = Term(variable, "i64", narrow=narrow, expr=Name(variable, type=INDEX))
        self.repeating += 1
        self.turn(node.body, scope, inner)
        self.repeating -= 1
        self.lines = outside

    def branch(self, node: ast.If, scope: Scope) -> None:
        self.meet(node.condition)
        condition = self.term(node.condition, scope, "bool")
        if isinstance(node.condition, Number):
            self.turn(node.body if node.condition.value else node.orelse, scope, scope.inner())
            return
        self.say(f"if {condition}:")
        outside = self.lines
        for body, head in ((node.body, ""), (node.orelse, "else:")):
            if head and body:
                self.say(head, outside)
            if body or not head:
                self.lines = outside.nest()
                self.turn(body, scope, scope.inner())
                self.lines = outside


def assigned(statement: ast.Statement) -> set[str]:
    """The names that a loop or a branch assigns."""
    if isinstance(statement, (ast.Assign, ast.Effect, ast.Whole)):
        return set()
    return {target for node in ast.walk(statement) if isinstance(node, ast.Assign) for target in node.targets}


def _plus(text: str) -> str:
    return "" if text == "0" else f"{text} + "
