"""A plan's loops as C++: loops over positions and along the lanes, loops over tiles, branches."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest

from akg_core.plugin.lower import (
    Axis,
    Block,
    Body,
    Leaf,
    Loop,
    Op,
    Plan,
    Value,
    dtype_of,
    element_of,
    inside,
    reach,
    squares,
)
from akg_core.plugin.sketch import INDEX, Expr, Name, Number
from akg_plugin_cpp_cpu.emit.epilogue import Sums, beside, sums_of
from akg_plugin_cpp_cpu.emit.expression import register
from akg_plugin_cpp_cpu.emit.look_ahead import look_ahead
from akg_plugin_cpp_cpu.emit.matrix import MatrixPrinter
from akg_plugin_cpp_cpu.emit.memory import MOST_LANES, Buffer, MemoryPrinter, plus
from akg_plugin_cpp_cpu.emit.reduction import ReductionPrinter
from akg_plugin_cpp_cpu.emit.scope import Lane, Scope, Term


class NestPrinter:
    """Prints one region's program: what a plan says, inside a given scope."""

    def __init__(self, body: Body) -> None:
        self.body, self.memory = body, MemoryPrinter(body)
        self.terms, self.emit = self.memory.terms, self.memory.terms.emit
        self.reductions, self.matrices = ReductionPrinter(self.memory), MatrixPrinter(self.memory)
        self.sums: dict[Op, Sums] = {}  # by the first of their products
        self.started: dict[Leaf, str] = {}  # conditions under which loops of tiles are past their first turns
        self.alone: set[Leaf] = set()
        self.done: set[Loop] = set()  # loops that need not be printed where they stand

    def region(self, plan: Plan, scope: Scope) -> None:
        """The whole plan. Buffers are declared first."""
        self.memory.allocate(plan, scope)
        self.block(plan.root, scope)

    # --- blocks -------------------------------------------------------------------------------------------

    def declare(self, block: Block, scope: Scope) -> None:
        """Registers of mutable values that live in this block; buffers may be read from here inwards only."""
        for value, home in self.memory.plan.homes.items():
            if home is not block:
                continue
            if value in self.memory.buffers:
                scope.names[value.name] = Term("", value.dtype)
            elif value.mutable:
                vector = scope.along(value.axes)
                scope.names[value.name] = Term(value.name, value.dtype, vector)
                if not any(isinstance(n, Leaf) and n.op.target is value for n in block.nodes):
                    self.emit(f"{register(value.dtype, vector)} {value.name};", scope)
                    self.memory.declared.add(value)

    def block(self, block: Block, scope: Scope) -> None:
        self.declare(block, scope)
        for sums in sums_of(self.body, block):
            if self.sums.setdefault(sums.dots[0], sums) is sums and sums.start is not None:
                self.done.add(sums.start)
            if sums.alone:
                self.alone.add(sums.loops[-1])
        dots: list[Op] = []
        for node, following in zip_longest(block.nodes, block.nodes[1:]):
            if isinstance(node, Loop):
                if node not in self.done:
                    self.loop(node, scope)
            elif node.op.kind == "dot":
                dots.append(node.op)
                if not (isinstance(following, Leaf) and beside(dots, following.op)):
                    self.terms.line = dots[0].place.line
                    self.dots(dots, scope)
                    dots = []
            else:
                self.step(node, scope)

    def dots(self, ops: list[Op], scope: Scope) -> None:
        """Products, whose sums an epilogue may take block by block."""
        sums = self.sums.get(ops[0])
        if sums is None:
            self.matrices.dots(ops, scope)
            return
        loops = sums.loops[:-1] if sums.alone else sums.loops
        started = " || ".join(self.started[loop] for loop in loops) or "false" if sums.start is not None else ""
        epilogue = sums.epilogue
        if epilogue is None:
            self.matrices.dots(ops, scope, started)
            return
        if self.matrices.dots(ops, scope, started, lambda call: self.epilogue(call, sums, epilogue, scope)):
            self.done.add(epilogue)

    def epilogue(self, call: str, sums: Sums, epilogue: Loop, scope: Scope) -> None:
        """The rest of a call, which hands each block of sums on: where it lies, and how far apart its rows are."""
        buffers, axes, lines = self.memory.buffers, self.body.axes, list[str]()
        leading, names, parameters = self.terms.fresh("ld"), dict[str, Term](), list[str]()
        blocks, tiles, starts = dict[Value, Buffer](), dict[str, Axis](), dict[str, str]()
        for axis in (axes[name] for name in (sums.rows, sums.columns)):
            begin, ends = self.terms.index(axis.begin, scope), list[Name]()
            for side in ("from", "to"):
                given, name = self.terms.fresh(f"{axis.name}_{side}"), self.terms.fresh(f"{axis.name}_block_{side}")
                parameters.append(f"i64 {given}")
                lines.append(f"const i64 {name} = {given if begin == '0' else f'{begin} + {given}'};")
                ends.append(Name(name, type=INDEX))
                names[name] = Term(name, "i64")
                starts.setdefault(axis.name, given)
            tiles[axis.name] = replace(axis, begin=ends[0], end=ends[1])
        parameters.append(f"i64 {leading}")
        names[leading] = Term(leading, "i64")
        for dot in sums.dots:
            whole = buffers[dot.result]
            block = self.terms.fresh(f"{whole.name}_block")
            parameters.append(f"const {whole.dtype}* {block}")
            rows = Name(leading, type=INDEX)
            blocks[dot.result] = replace(whole, name=block, strides=(rows, whole.strides[1]))
        touched = {value for op in inside(epilogue.ops) for value in (*op.reads, *op.writes)}
        for value, whole in buffers.items():
            steps = dict(zip(whole.axes, whole.strides, strict=True))
            moved = [
                f"{start} * {self.terms.index(steps[axis], scope)}" for axis, start in starts.items() if axis in steps
            ]
            if moved and value in touched - blocks.keys():  # which goes on at its beginning
                block = self.terms.fresh(f"{whole.name}_block")
                lines.append(f"{whole.dtype}* const {block} = {whole.name} + {' + '.join(moved)};")
                blocks[value] = replace(whole, name=block)
        self.emit(f"{call}, [&]({', '.join(parameters)}) {{", scope)
        inner = scope.inner()
        inner.names |= names
        for line in lines:
            inner.lines.add(line)
        self.memory.buffers, self.body.axes = buffers | blocks, axes | tiles
        self.loop(replace(epilogue, axis=tiles[sums.rows]), inner)
        self.memory.buffers, self.body.axes = buffers, axes
        scope.lines.add("});")

    def step(self, node: Leaf, scope: Scope) -> None:
        op = node.op
        self.terms.line = op.place.line
        compound = {"tiles": self.tiles, "range": self.range, "if": self.branch}
        if op.kind in compound:
            compound[op.kind](node, scope)
        else:
            reductions = {"reduce": self.reductions.reduce, "scan": self.reductions.scan}
            simple = {"map": self.map, "store": self.memory.store} | reductions
            whole = {"sort": self.matrices.sort, "all_reduce": self.all_reduce, "barrier": self.barrier}
            (simple | whole)[op.kind](op, scope)

    def map(self, op: Op, scope: Scope) -> None:
        self.memory.assign(op.result, self.terms.term(op.operand, scope), scope)

    def all_reduce(self, op: Op, scope: Scope) -> None:
        """Programs of a cooperative grid axis combine what each has."""
        value = op.target
        assert value is not None
        if value in self.memory.buffers:
            buffer = self.memory.buffers[value]
            where, count = buffer.name, self.terms.index(buffer.size, scope)
        else:
            where, count = f"&{value.name}", "1"
        self.emit(f"team.{op.function}(member, {where}, {count});", scope)

    def barrier(self, op: Op, scope: Scope) -> None:
        """Programs of a cooperative grid axis wait for each other."""
        self.emit("team.barrier();", scope)

    # --- loops over positions -----------------------------------------------------------------------------

    def loop(self, loop: Loop, scope: Scope) -> None:
        axis = loop.axis
        self.terms.line = axis.place.line
        opened = [p for p in loop.ops if p.kind in ("reduce", "scan") and axis.name in p.over]
        for op in opened:
            self.reductions.start(op, loop, scope)
        name = axis.name
        begin, end = scope.ranges.get(name) or self.terms.ends(name, scope)
        used = reach(self.body, loop.ops, name)
        if used is not None and begin == "0" and (not end.isdecimal() or used < int(end)):
            end = str(used) if end.isdecimal() else f"std::min<i64>({end}, {used})"
        if loop.unroll_and_jam:
            self.emit(f"for (i64 {name}_0 = {begin}; {name}_0 < {end}; {name}_0 += {loop.unroll_and_jam}) {{", scope)
            inner = scope.inner(loop.block)
            inner.lines.add(f"const i64 {name}_1 = std::min<i64>({name}_0 + {loop.unroll_and_jam}, {end});")
            inner.ranges = {**scope.ranges, name: (f"{name}_0", f"{name}_1")}
            self.block(loop.block, inner)
            scope.lines.add("}")
        elif loop.across:
            self.squares(loop, begin, end, scope)
        elif loop.lanes:
            lane = Lane(name, loop.segment)
            unroll = f"{loop.at_once} / LANES" if loop.at_once >= MOST_LANES else str(loop.unroll)
            body = f"[&](auto u, i64 {name}, auto part)"
            call = f"lanes_backwards<{unroll}>({begin}, {end}" if loop.reverse else f"lanes<{unroll}>({begin}, {end}"
            if lane.segment is not None:
                call = f"lanes_by_segment<{unroll}>({begin}, {end}, {self.terms.index(lane.segment, scope)}"
            self.emit(f"{call}, {body} {{", scope)
            self.block(loop.block, scope.over(name, loop.block, lane))
            scope.lines.add("});")
        else:
            turn = f"i64 {name} = {begin}; {name} < {end}; ++{name}"
            if loop.reverse:
                turn = f"i64 {name} = {end} - 1; {name} >= {begin}; --{name}"
            self.emit(f"for ({turn}) {{", scope)
            inner = scope.over(name, loop.block)
            if not loop.reverse:
                look_ahead(self.memory, name, inner)
            self.block(loop.block, inner)
            scope.lines.add("}")
        for op in opened:
            self.reductions.finish(op, loop, scope)

    def squares(self, loop: Loop, begin: str, end: str, scope: Scope) -> None:
        """A loop along memory under lanes that step across it: LANES positions at a time, transposed in registers."""
        name, lane = loop.axis.name, scope.lane
        assert lane is not None
        self.emit(f"for (i64 {name}_0 = {begin}; {name}_0 < {end}; {name}_0 += LANES) {{", scope)
        outer = scope.inner(loop.block)
        outer.lines.add(f"const i64 {name}_n = std::min<i64>(LANES, {end} - {name}_0);")
        known: dict[Expr, Term] = {}
        for call, where, by in squares(self.body, loop.ops, lane.axis, name):
            element = element_of(call)
            first = Scope(outer.lines, outer.block, outer)
            first.names[name] = Term(f"{name}_0", "i64")
            square, dtype = self.terms.fresh(f"{element.tensor}_square"), dtype_of(call)
            source = plus(element.tensor, self.memory.sum(where, first))
            self.emit(f"Vec<{dtype}> {square}[LANES];", outer)
            by_lane = self.memory.sum(by, scope)
            self.emit(f"load_square({square}, {source}, {by_lane}, {lane.part}.n, {name}_n);", outer)
            known[call] = Term(f"{square}[{name} - {name}_0]", dtype, True)
        self.emit(f"for (i64 {name} = {name}_0; {name} < {name}_0 + {name}_n; ++{name}) {{", outer)
        inner = outer.over(name, loop.block)
        inner.known |= known
        self.block(loop.block, inner)
        outer.lines.add("}")
        scope.lines.add("}")

    # --- loops over tiles, counters, branches ---------------------------------------------------------------

    def tiles(self, node: Leaf, scope: Scope) -> None:
        op, axis = node.op, node.op.axis
        assert axis is not None and node.body is not None
        start, extent, by = (self.terms.index(e, scope) for e in (op.bounds[0], axis.extent, axis.tile_size))
        limit = extent
        if op.bounds[1] != axis.extent:
            limit = self.terms.fresh(f"{axis.name}_stop")
            stop = self.terms.index(op.bounds[1], scope)
            if not self.body.bounds.at_most(op.bounds[1], axis.extent):
                stop = f"std::min<i64>({extent}, {stop})"
            self.emit(f"const i64 {limit} = {stop};", scope)
        assert isinstance(axis.begin, Name)
        first = axis.begin.id
        low = self.body.bounds.interval(op.bounds[0])[0]
        simple = low is not None and low >= 0
        at = first if simple else f"{first}_from"
        if node in self.alone:  # one call takes all tiles
            whole = Scope(scope.lines, node.body, scope)
            whole.names[first] = whole.names[axis.name] = Term(start, "i64", atomic=False)
            if isinstance(axis.end, Name):
                whole.names[axis.end.id] = Term(limit, "i64", atomic=False)
            self.block(node.body, whole)
            return
        self.started[node] = f"{at} > {start}"
        self.unrolled(op, scope)
        if op.reverse:
            last = f"{start} + floor_div({limit} - {_operand(start)} - 1, i64({by})) * {by}".removeprefix("0 + ")
            self.emit(f"for (i64 {at} = {last.replace(' - 0', '')}; {at} >= {start}; {at} -= {by}) {{", scope)
        else:
            self.emit(f"for (i64 {at} = {start}; {at} < {limit}; {at} += {by}) {{", scope)
        inner = scope.inner(node.body)
        inner.names[first] = inner.names[axis.name] = Term(first, "i64")
        if not simple:
            inner.lines.add(f"if ({at} + {by} <= 0) continue;")
            inner.lines.add(f"const i64 {first} = std::max<i64>({at}, 0);")
        if first != axis.name:
            assert isinstance(axis.end, Name)
            end = axis.end.id
            inner.lines.add(f"const i64 {end} = std::min<i64>({at} + {by}, {limit});")
            inner.names[end] = Term(end, "i64")
        self.block(node.body, inner)
        scope.lines.add("}")

    def unrolled(self, op: Op, scope: Scope) -> None:
        """The hint `unroll=` on a loop over tiles or a counter."""
        hint = dict(op.hints).get("unroll")
        if isinstance(hint, Number) and isinstance(hint.value, int) and hint.value > 1:
            scope.lines.add(f"#pragma GCC unroll {hint.value}")

    def range(self, node: Leaf, scope: Scope) -> None:
        op = node.op
        assert node.body is not None
        start, stop, by = (self.terms.index(e, scope) for e in op.bounds)
        name, step_ = op.result.name, op.bounds[2]
        self.unrolled(op, scope)
        if isinstance(step_, Number):
            test = f"{name} < {stop}" if step_.value > 0 else f"{name} > {stop}"
        else:
            test = f"{_operand(by)} > 0 ? {name} < {stop} : {name} > {stop}"
        self.emit(f"for (i64 {name} = {start}; {test}; {name} += {by}) {{", scope)
        inner = scope.over(name, node.body)
        if step_ == Number(1):
            look_ahead(self.memory, name, inner)
        self.block(node.body, inner)
        scope.lines.add("}")

    def branch(self, node: Leaf, scope: Scope) -> None:
        op = node.op
        assert node.body is not None and node.orelse is not None
        self.emit(f"if ({self.terms.term(op.operand, scope)}) {{", scope)
        self.block(node.body, scope.inner(node.body, fixed=True))
        if node.orelse.nodes:
            scope.lines.add("} else {")
            self.block(node.orelse, scope.inner(node.orelse, fixed=True))
        scope.lines.add("}")


def _operand(text: str) -> str:
    return text if text.isidentifier() or text.isdigit() else f"({text})"
