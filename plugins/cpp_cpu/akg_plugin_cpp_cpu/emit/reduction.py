"""Reductions and scans as C++: accumulators in registers where all else is open, in buffers where it is not."""

from __future__ import annotations

from dataclasses import dataclass

from akg_core.plugin.lower import Loop, Op, dtype_of
from akg_core.plugin.sketch import Name
from akg_plugin_cpp_cpu.emit.expression import literal, register
from akg_plugin_cpp_cpu.emit.memory import Buffer, MemoryPrinter
from akg_plugin_cpp_cpu.emit.scope import Lane, Scope, Term


def begun(op: Op) -> str:
    """What the accumulator of a reduction or scan begins with."""
    assert op.start is not None
    value, dtype = op.start.value, dtype_of(op.start)
    return literal(value, dtype) if dtype == "bool" or abs(value) > 1 else f"{dtype}({value:g})"


def farthest(op: Op) -> str:
    """Where the best of an arg-reduction begins."""
    return "lowest" if op.function == "argmax" else "highest"


def combine(function: str, left: str, right: str, vector: bool) -> str:
    """Two partial results put together."""
    if function in ("sum", "prod"):
        return f"{left} {'+' if function == 'sum' else '*'} {right}"
    if function in ("any", "all"):
        symbol = "|" if function == "any" else "&"
        return f"{left} {symbol if vector else symbol * 2} {right}"
    return f"{function}imum({left}, {right})"


@dataclass(slots=True)
class Running:
    """The accumulator of a reduction under way: a variable, one across the lanes, or a buffer."""

    name: str
    dtype: str
    across: bool = False
    vector: bool = False
    buffer: Buffer | None = None
    places: Buffer | None = None
    local: Running | None = None
    loop: Loop | None = None
    outer: Loop | None = None
    final: bool = True


class ReductionPrinter:
    """Prints accumulators, from before the loop that reduces to after it."""

    def __init__(self, memory: MemoryPrinter) -> None:
        self.body, self.memory, self.terms = memory.body, memory, memory.terms
        self.emit = self.terms.emit
        self.running: dict[Op, Running] = {}

    def start(self, op: Op, loop: Loop, scope: Scope) -> None:
        """Before a loop over an axis that is reduced: the accumulator, when it can be had here."""
        open = loop.block.open - {loop.axis.name}
        missing = op.result.axes - open - ({loop.axis.name} if op.kind == "scan" else set())
        if op not in self.running:
            self.running[op] = self.buffered(op, loop, scope) if missing else self.register(op, scope)
            self.running[op].outer = loop
            return
        running = self.running[op]
        buffered = running.buffer is not None and running.local is None
        if buffered and not missing and op.function not in ("first", "last"):
            running.local = self.register(op, scope)
            running.loop = loop

    def register(self, op: Op, scope: Scope) -> Running:
        """An accumulator in a variable: a scalar, a vector with a result a lane, or one across the lanes."""
        assert op.start is not None
        leaf, dtype, function = self.memory.plan.leaves[op], dtype_of(op.start), op.joins
        lane = leaf.block.lane
        across = lane is not None and lane in op.over
        vector = lane is not None and not across and lane in op.iterates
        name = self.terms.fresh(f"{op.result.name}_so_far")
        kind, start = register(dtype, vector), f" = {begun(op)}"
        if op.finds_place:
            kind = f"Best<{dtype}>" if across or vector else f"ScalarBest<{dtype}>"
            kind, start = "auto", f" = {kind}::{farthest(op)}()"
        elif function in ("first", "last"):
            start = "{}"
        elif across and op.kind == "scan":
            kind = dtype
        elif across:
            sized = "" if dtype == "bool" else f"<{dtype}, {leaf.unroll}>"
            kind, start = f"Across{function.capitalize()}{sized}", ""
        scope.lines.add(f"{kind} {name}{start};", op.place.line)
        return Running(name, dtype, across, vector)

    def buffered(self, op: Op, loop: Loop, scope: Scope) -> Running:
        """An accumulator for each position of axes that open further in, filled with the identity."""
        assert op.start is not None
        missing = op.result.axes - loop.block.open - set(op.over)
        if scope.lane is not None and scope.along(op.result.axes):
            missing |= {scope.lane.axis}  # memory holds a place for each lane
        home = self.memory.buffers.get(op.result)
        axes = tuple(a for a in (home.axes if home else sorted(missing)) if a in missing)
        dtype, arg = dtype_of(op.start), op.finds_place
        final = home is not None and home.dtype == dtype and home.axes == axes and not arg and op.kind == "reduce"
        made = home if final and home else self.memory.buffer(self.terms.fresh(f"{op.result.name}_so_far"), dtype, axes)
        running = Running(made.name, dtype, buffer=made, final=final)
        size = self.terms.index(made.size, scope)
        scope.lines.add(f"fill({made.name}, {size}, {begun(op)});", op.place.line)
        if arg:
            running.places = self.memory.buffer(self.terms.fresh(f"{op.result.name}_places"), "i64", axes)
            scope.lines.add(f"fill({running.places.name}, {size}, HIGHEST<i64>);", op.place.line)
        return running

    def reduce(self, op: Op, scope: Scope) -> None:
        """One turn of a reduction: the value at hand goes into the accumulator."""
        into = self.running[op].local or self.running[op]
        term = self.terms.term(op.operand, scope)
        lane = scope.lane
        if into.places is not None:
            vector = scope.along(into.places.axes)
            value, at = self.terms.vector(term) if vector else str(term), self.position(op, scope, vector)
            if scope.along(op.over):
                value, at = self.extreme(op, into, term, scope)
            self.arg_in_buffer(op, into, value, at, scope)
            return
        if op.function in ("first", "last"):
            self.pick(op, into, term, scope)
        elif into.buffer is not None:
            held = self.at(into.buffer, scope)
            vector = scope.along(into.buffer.axes)
            value = self.terms.wanted(term, vector)
            if lane is not None and scope.along(op.over):
                value = self.across_lanes(op, term, lane)
            text = combine(op.joins, held, value, vector)
            self.put(into.buffer, text, scope)
        elif op.finds_place:
            position = self.position(op, scope, into.across or into.vector)
            value = self.terms.vector(term) if into.across or into.vector else str(term)
            which = f", {lane.part}.mask()" if into.across and lane is not None else ""
            self.emit(f"{op.function}_step({into.name}, {value}, {position}{which});", scope)
        elif into.across:
            assert lane is not None
            self.emit(f"{into.name}.add({lane.unroll}, {self.terms.vector(term)}, {lane.part});", scope)
        else:
            value = self.terms.wanted(term, into.vector)
            self.emit(f"{into.name} = {combine(op.joins, into.name, value, into.vector)};", scope)

    def across_lanes(self, op: Op, term: Term, lane: Lane) -> str:
        """A vector that is reduced at once, because the accumulator is not along the lanes."""
        return f"{op.function}(keep({self.terms.vector(term)}, {begun(op)}, {lane.part}))"

    def extreme(self, op: Op, running: Running, term: Term, scope: Scope) -> tuple[str, str]:
        """The same for an arg-reduction: its value and its position."""
        assert scope.lane is not None
        name = self.terms.fresh("here")
        self.emit(f"auto {name}_lanes = Best<{running.dtype}>::{farthest(op)}();", scope)
        position = self.position(op, scope, True)
        step = f"{op.function}_step({name}_lanes, {self.terms.vector(term)}, {position}, {scope.lane.part}.mask());"
        self.emit(step, scope)
        largest = "true" if op.function == "argmax" else "false"
        self.emit(f"const auto {name} = detail::arg_fold<{largest}>({name}_lanes);", scope)
        return f"{name}.value", f"{name}.at"

    def position(self, op: Op, scope: Scope, vector: bool) -> str:
        """Where on the axis an arg-reduction stands."""
        term = self.terms.term(Name(op.over[0]), scope)
        return self.terms.vector(term) if vector else str(term)

    def pick(self, op: Op, into: Running, term: Term, scope: Scope) -> None:
        """`first` and `last`: the value at one end of the tile."""
        axis = self.body.axes[op.over[0]]
        begin, end = self.terms.ends(axis.name, scope)
        end = begin if op.function == "first" else f"{end} - 1"
        lane = scope.lane
        if lane is not None and lane.axis == axis.name:
            at = f"{end} - {axis.name}" if end != "0" else f"-{axis.name}"
            test = f"if (const i64 at = {at}; at >= 0 && at < {lane.part}.n)"
            target = self.at(into.buffer, scope) if into.buffer is not None else into.name
            self.emit(f"{test} {target} = lane({self.terms.vector(term)}, int(at));", scope)
        elif into.buffer is not None:
            self.emit(f"if ({axis.name} == {end}) {{", scope)
            vector = scope.along(into.buffer.axes)
            self.put(into.buffer, self.terms.vector(term) if vector else str(term), scope)
            scope.lines.add("}")
        else:
            value = self.terms.vector(term) if into.vector else str(term)
            self.emit(f"if ({axis.name} == {end}) {into.name} = {value};", scope)

    def arg_in_buffer(self, op: Op, running: Running, value: str, position: str, scope: Scope) -> None:
        """Arg-reductions whose candidates are kept in two buffers, values and positions."""
        assert running.buffer is not None and running.places is not None
        vector = scope.along(running.buffer.axes)
        best = self.terms.fresh("best")
        held = f"{self.at(running.buffer, scope)}, {self.at(running.places, scope)}"
        self.emit(f"{'Best' if vector else 'ScalarBest'}<{running.dtype}> {best}{{{held}}};", scope)
        self.emit(f"{op.function}_step({best}, {value}, {position});", scope)
        self.put(running.buffer, f"{best}.value", scope)
        self.put(running.places, f"{best}.at", scope)

    def at(self, buffer: Buffer, scope: Scope) -> str:
        return self.memory.read(buffer, scope).text

    def put(self, buffer: Buffer, text: str, scope: Scope) -> None:
        vector = scope.along(buffer.axes)
        self.memory.write(buffer, Term(text, buffer.dtype, vector), scope)

    def finish(self, op: Op, loop: Loop, scope: Scope) -> None:
        """After a loop over a reduced axis: what this loop gathered joins the rest, or becomes the value."""
        self.terms.line = op.place.line
        running = self.running[op]
        if running.loop is loop and running.local is not None and running.buffer is not None:
            local, running.local, running.loop = running.local, None, None
            if running.places is not None:
                fold = f"detail::arg_fold<{'true' if op.function == 'argmax' else 'false'}>({local.name})"
                self.emit(f"const auto {local.name}_all = {fold};" if local.across else "", scope)
                name = f"{local.name}_all" if local.across else local.name
                self.arg_in_buffer(op, running, f"{name}.value", f"{name}.at", scope)
            else:
                term = self.result(op, local)
                text = combine(op.joins, self.at(running.buffer, scope), str(term), term.vector)
                self.put(running.buffer, text, scope)
        if running.outer is loop:
            del self.running[op]
            if op.kind == "scan":
                return
            if running.buffer is None:
                self.memory.assign(op.result, self.terms.cast(self.result(op, running), op.result.dtype), scope)
            elif not running.final:
                self.settle(op, running, scope)

    def result(self, op: Op, running: Running) -> Term:
        if op.finds_place:
            text = f"{running.name}.at" if running.vector else f"{op.function}({running.name})"
            return Term(text, "i64", running.vector)
        if running.across and op.function not in ("first", "last"):
            return Term(f"{running.name}.total()", running.dtype)
        return Term(running.name, running.dtype, running.vector)

    def settle(self, op: Op, running: Running, scope: Scope) -> None:
        """Copy accumulators of another dtype to where the value lives."""
        assert running.buffer is not None
        source = running.places or running.buffer
        axes = [axis for axis in source.axes if axis not in scope.block.open]
        at = scope
        closing: list[tuple[Scope, str]] = []
        for number, axis in enumerate(axes):
            along = scope.lane is None and number == len(axes) - 1
            closing.append((at, "});" if along else "}"))
            at = self.open_lanes(axis, at) if along else self.terms.opened(axis, at)
        vector = at.along(source.axes)
        term = Term(self.at(source, at), source.dtype, vector)
        self.memory.assign(op.result, self.terms.cast(term, op.result.dtype), at)
        for outer, bracket in reversed(closing):
            outer.lines.add(bracket)

    def open_lanes(self, axis: str, scope: Scope) -> Scope:
        """The inside of a new loop along the lanes over the tile of an axis, outside of any plan."""
        begin, end = self.terms.ends(axis, scope)
        self.emit(f"lanes<1>({begin}, {end}, [&](auto, i64 {axis}, auto part) {{", scope)
        return scope.over(axis, lane=Lane(axis))

    # --- scans ------------------------------------------------------------------------------------------------

    def scan(self, op: Op, scope: Scope) -> None:
        """One position of a scan, or, along the scanned axis itself, one vector of positions."""
        running = self.running[op]
        function = op.joins
        term = self.terms.term(op.operand, scope)
        lane = scope.lane
        if running.across or scope.along(op.over):
            assert lane is not None
            state = running.name if running.buffer is None else self.at(running.buffer, scope)
            name = self.terms.fresh(f"{op.result.name}_run")
            kept = f"keep({self.terms.vector(term)}, {begun(op)}, {lane.part})"
            way = "_reverse" if op.reverse else ""
            run = combine(function, f"{op.function}{way}({kept})", f"Vec<{running.dtype}>({state})", True)
            self.emit(f"const auto {name} = {run};", scope)
            self.emit(f"{state} = lane({name}, {'0' if op.reverse else 'LANES - 1'});", scope)
            result = Term(name, running.dtype, True)
        elif running.buffer is not None:
            vector = scope.along(running.buffer.axes)
            name = self.terms.fresh(f"{op.result.name}_run")
            value = self.terms.vector(term) if vector else term.operand
            self.emit(f"const auto {name} = {combine(function, self.at(running.buffer, scope), value, vector)};", scope)
            self.put(running.buffer, name, scope)
            result = Term(name, running.dtype, vector)
        else:
            value = self.terms.wanted(term, running.vector)
            self.emit(f"{running.name} = {combine(function, running.name, value, running.vector)};", scope)
            result = Term(running.name, running.dtype, running.vector)
        self.memory.assign(op.result, self.terms.cast(result, op.result.dtype), scope)
