"""One parallel region of a kernel as the body of a T.Kernel: the grid, loops, assignments, stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from akg_core.plugin import Unsupported
from akg_core.plugin.lower import ATOM, LOOSE, TORCH_NAMES, Axis, Body, Lines, Op, Region
from akg_core.plugin.sketch import Binary, Call, Element, Expr, Name, Number, is_float, walk
from akg_core.plugin.tile import EXISTS, Programs, conjuncts, waits
from akg_plugin_tilelang.emit.expression import Tile
from akg_plugin_tilelang.emit.gathered import gather, is_gathered
from akg_plugin_tilelang.emit.im2col import im2col
from akg_plugin_tilelang.emit.reads import branches, is_exact, is_loaded
from akg_plugin_tilelang.emit.terms import HELD, STORED, Term, cast, strong
from akg_plugin_tilelang.emit.threads import unrolled
from akg_plugin_tilelang.emit.tiles import TilePrinter
from akg_plugin_tilelang.emit.turned import as_in_memory, is_turned, is_turned_result, load_turned, store_turned
from akg_plugin_tilelang.emit.units import is_factor_of_loops, stays_in_registers, turned_results

ATOMIC = {
    "atomic_add": ("f32", "f64", "f16", "bf16", "i32"),
    "atomic_max": ("f32", "f64", "i32"),
    "atomic_min": ("f32", "f64", "i32"),
}


class RegionPrinter(TilePrinter):
    """Prints the body of one function. `blocks`: lanes that only the launch knows; `threads`: of a program.

    `combine` prints what sees a whole axis, `grid` opens the axes of the grid, `stages` says how many turns of a loop
    are at hand at once. `programs`: how a grid is launched whose programs wait for each other, None for others.
    """

    def __init__(
        self,
        body: Body,
        region: Region,
        order: Sequence[str],
        programs: Programs | None,
        combine: Mapping[str, Callable[[RegionPrinter, Op], None]],
        grid: Callable[[RegionPrinter], None],
        stages: Callable[[RegionPrinter, Op, Lines], int],
    ) -> None:
        super().__init__(body, region, order)
        self.laid |= turned_results(self)
        self.programs = programs
        self.combine, self.grid, self.stages = combine, grid, stages
        self.vectors: set[str] = set()  # values that lie in shared memory; of factors, those loaded one by one
        self.copied: set[str] = set()
        self.ahead = 0  # bytes of factors that loops before this one load ahead
        self.gathered: set[str] = set()  # factors whose positions are digits of what is summed over
        self.registers: set[str] = set()  # factors that matrix units take from there
        factors = {e.id for op in self.products for e in (op.expr, op.other) if isinstance(e, Name)}
        self.factors = {n for n, v in body.values.items() if n in factors and not v.mutable and is_float(v.dtype)}
        self.outer = self.factors & {
            e.id
            for op in self.products
            if is_exact(op) and len(op.over) == 1
            for e in (op.expr, op.other)
            if isinstance(e, Name)
        }
        self.updated, self.waits = region.updated(), waits(region)

    def print(self) -> None:
        for axis in self.body.axes.values():
            if axis.step is None and axis not in self.region.grid:
                self.open(axis, Term("0", "i64", narrow=True, number=True), self.terms.term(axis.extent))
        self.grid(self)
        self.ops(self.region.ops)

    # --- axes ---

    def open(self, axis: Axis, begin: Term, end: Term, stop: Term | None = None) -> None:
        """Bring the tile of an axis to hand; `end`: what its positions end before, `stop`: those of all its tiles."""
        full = isinstance(axis.step, Number) and axis.lanes == axis.step.value
        limit = stop if full and stop is not None else end
        self.terms.tiles[axis.name] = Tile(begin, limit.operand, self.terms.lanes.get(axis.name, ""))
        if axis.step is not None and isinstance(axis.begin, Name):
            self.terms.values[axis.begin.id] = begin
        if axis.step is not None and isinstance(axis.end, Name):
            self.terms.values[axis.end.id] = end

    def tile_end(self, axis: Axis, begin: Term, stop: Term) -> Term:
        """What the positions of a tile end before: where it is full unless the axis ends, that end will do."""
        step = self.terms.term(axis.tile_size)
        past = Term(f"{begin.operand} + {step.operand}" if begin.text != "0" else step.text, "i64", LOOSE, begin.narrow)
        if not axis.partial:
            return past
        return Term(f"T.min({past}, {stop})", "i64", ATOM, begin.narrow and stop.narrow)

    # --- statements ---

    def ops(self, ops: Sequence[Op]) -> None:
        for op in ops:
            self.line = op.place.line
            self.wait_for_threads(op)
            match op.kind:
                case "tiles":
                    self.tiles(op)
                case "range":
                    self.range(op)
                case "if":
                    self.branch(op)
                case "store":
                    self.store(op)
                case "map":
                    self.map(op)
                case "wait":
                    self.wait(op)
                case "positions":
                    pass  # of an axis that is open as a whole
                case "reduce" | "scan" | "sort" | "dot" | "regroup":
                    self.combine[op.kind](self, op)
                case _:
                    raise Unsupported(f"{op.function} has no form in TileLang.", "Use one program.")

    def wait_for_threads(self, op: Op) -> None:
        """Wait for the program's other threads before a tensor is touched that the region both reads and writes, or is
        written in another way than before."""
        if op in self.waits or op.touches() & self.updated - set(self.body.workspace):
            self.say("T.sync_threads()")

    def wait(self, op: Op) -> None:
        """Wait for the other programs of the group."""
        counter, *at = op.destination.tensor, *map(self.terms.term, op.destination.indices)
        self.say(self.terms.call("grid_barrier", counter, *at, self.terms.term(op.bounds[0])))

    def hold(self, op: Op, scope: str = "fragment") -> tuple[str, tuple[str, ...]]:
        """The tile of an op's target, allocated where it is not there yet."""
        value, axes = op.result, self.axes_of(op.result.name)
        if value.name not in self.terms.values:
            self.allocate(value.name, axes, HELD[value.dtype], scope)
            text = self.terms.at(value.name, axes)
            truth = value.dtype == "bool"
            self.terms.values[value.name] = Term(
                f"{text} != 0" if truth else text, value.dtype, LOOSE if truth else ATOM
            )
        return value.name, axes

    def map(self, op: Op) -> None:
        value = op.result
        if value.axes and value.name in self.factors and is_loaded(op.operand):
            self.laid[value.name] = as_in_memory(self, op)
            if window := im2col(self, op, self.laid[value.name]):
                name, _ = self.hold(op, "shared")
                self.say(f"T.im2col({window.format(name)})")
                return
        self.keep_strides(op.operand)
        if value.name in self.factors and is_gathered(self, op):
            self.gathered.add(value.name)
        term = gather(self, op) if value.name in self.gathered else self.terms.term(op.operand)
        self.terms.kept.clear()
        if value.axes:
            if self.is_vector(op):
                self.vectors.add(value.name)
            if value.name in self.outer and len(value.axes) == 2:
                self.outer_factor(op, strong(term))
                return
            if value.name in self.factors and stays_in_registers(self, op):
                self.registers.add(value.name)
            shared = value.name in (self.factors | self.vectors) - self.registers
            name, axes = self.hold(op, "shared" if shared else "fragment")
            box = self.box(op, axes) if value.name in self.factors else ""
            if box:
                self.say(f"T.copy({box}, {name}{', disable_tma=True' if is_factor_of_loops(self, op) else ''})")
                return
            if value.name in self.factors and is_loaded(op.operand):
                self.copied.add(name)
            term = cast(strong(term), "i32") if term.dtype == "bool" else strong(term)
            self.fill(name, axes, load_turned(self, op, term) if is_turned(self, op) else term)
        elif not value.mutable:
            if not (term.text.isidentifier() or term.number):
                self.say(f"{value.name} = {term}")
                term = Term(value.name, term.dtype, narrow=term.narrow)
            self.terms.values[value.name] = term
        else:
            if value.name not in self.terms.values:
                self.held.add(f"{value.name} = T.alloc_var({TORCH_NAMES[value.dtype]!r})", self.line)
                self.terms.values[value.name] = Term(value.name, value.dtype)
            self.say(f"{value.name} = {strong(term)}")

    def outer_factor(self, op: Op, term: Term) -> None:
        """A factor of which threads read rows: what is summed over is first, and rows are four longer than they need.

        So threads that fill it in the order of memory write to different banks.
        """
        name, axes = op.result.name, self.axes_of(op.result.name)
        over = {axis for each in self.products for axis in each.over}
        self.laid[name] = tuple(sorted(axes, key=lambda axis: axis not in over))
        first, last = map(self.lanes, self.laid[name])
        self.scopes[name] = "shared"
        self.held.add(f"{name} = T.alloc_shared(({first}, {last} + 4), {HELD[op.result.dtype]!r})", self.line)
        place = self.terms.values[name] = Term(self.terms.at(name, self.laid[name]), op.result.dtype)
        outside = self.each(axes)
        self.say(f"{place} = {term}")
        self.lines = outside

    def keep_strides(self, expr: Expr) -> None:
        """Keep each product of a position of which several dimensions of a tensor are `//` and `%` in a tile.

        Of such products themselves TileLang makes vectors that are longer than any it can name.
        """
        for element in (node for node in walk(expr) if isinstance(node, Element)):
            divided = [n.left for n in walk(element) if isinstance(n, Binary) and n.op in ("//", "%")]
            for product in (e for e in dict.fromkeys(divided) if isinstance(e, Binary) and e.op == "*"):
                axes = self.ordered(self.body.axes_of(product))
                if axes and divided.count(product) > 1 and product not in self.terms.kept:
                    term = self.terms.term(product)
                    tile = self.allocate(self.body.unique("strides"), axes, "int32" if term.narrow else "int64")
                    self.fill(tile, axes, term)
                    self.terms.kept[product] = Term(self.terms.at(tile, axes), "i64", narrow=term.narrow)

    def is_vector(self, op: Op) -> bool:
        """Whether a value is loaded for one axis beside a product, whose tiles lie differently over the threads.

        As a fragment it would have to lie as all of them do.
        """
        if not self.products or op.result.mutable or len(self.ordered(op.result.axes)) != 1:
            return False
        used = {node.id for node in walk(op.operand) if isinstance(node, Name) and node.id in self.body.values}
        tiles = {name for name in used if self.body.values[name].axes}
        return tiles <= self.vectors

    def box(self, op: Op, axes: tuple[str, ...]) -> str:
        """A part of a tensor that is loaded whole, along its last dimensions; "" where an op's expression is none.

        It may end behind its tensor where it is loaded once.
        """
        match op.expr:
            case Call(op="load", args=(Element() as element,), keywords=keywords):
                given = dict(keywords)
                filled = op in self.region.ops and given.get("other", Number(0)) == Number(0)
                whole = given.keys() <= ({"via", "mask", "other"} if filled else {"via"})
                whole = whole and element.tensor not in self.updated and self.is_box(element, axes)
                return self.region_of(element, axes) if whole and self.ends(given.get("mask"), element, axes) else ""
        return ""

    def is_box(self, element: Element, axes: tuple[str, ...]) -> bool:
        """Whether an element's last dimensions are axes in their order, and the others the same for all lanes."""
        lead, last = element.indices[: -len(axes)], element.indices[-len(axes) :]
        return last == tuple(map(Name, axes)) and not any(map(self.body.axes_of, lead))

    def ends(self, mask: Expr | None, element: Element, axes: tuple[str, ...]) -> bool:
        """Whether the positions of a box that a mask leaves out are those behind the end of its tensor.

        `T.copy` neither reads nor writes these, and what it reads there is 0.
        """
        return all(self.is_end(condition, element, axes) for condition in conjuncts(mask))

    def is_end(self, condition: Expr, element: Element, axes: tuple[str, ...]) -> bool:
        match condition:
            case Call(op=op, args=(Name(id=name),)) if op == EXISTS and name in axes:
                axis, place = self.body.axes[name], axes.index(name) - len(axes)
                size = self.body.tensors[element.tensor].dims[place]
                step = axis.step.value if isinstance(axis.step, Number) else 0
                return axis in self.region.grid and axis.lanes == step and size == axis.extent
        return False

    def region_of(self, element: Element, axes: tuple[str, ...]) -> str:
        """The box of a tensor that lies at the tiles of these axes, which are its last dimensions."""
        begins = [(self.terms.tiles[axis].begin, self.lanes(axis)) for axis in axes]
        ends = [lanes if begin.text == "0" else f"{begin.beside('+')} + {lanes}" for begin, lanes in begins]
        parts = [f"{begin}:{end}" for (begin, _), end in zip(begins, ends, strict=True)]
        lead = element.indices[: -len(axes)]
        return f"{element.tensor}[{', '.join([*(str(self.terms.term(index)) for index in lead), *parts])}]"

    def store(self, op: Op) -> None:
        dtype = self.terms.tensors[op.destination.tensor].dtype
        axes = self.ordered(self.body.axes_of(op.destination) | self.body.axes_of(op.operand))
        if self.is_result(op, axes):
            name = self.allocate(self.body.unique(f"{op.destination.tensor}_tile"), axes, STORED[dtype], "shared")
            self.fill(name, axes, strong(self.terms.term(op.operand)))
            self.say(f"T.copy({name}, {self.region_of(op.destination, axes)})")
            return
        value = strong(self.terms.term(op.operand))
        if is_turned_result(self, op, axes) and dtype != "bool":
            axes, value = store_turned(self, op, axes, value)
        elif axes and op.function == "store" and dtype != "bool" and branches(op.operand):
            name = self.allocate(self.body.unique(f"{op.destination.tensor}_tile"), axes, STORED[dtype])
            self.fill(name, axes, value)
            value = Term(self.terms.at(name, axes), dtype)
        outside = self.each(axes)
        if op.mask is not None:
            self.block(f"if {self.terms.term(op.mask)}:")
        place = self.terms.place(op.destination)
        if op.function == "store":
            self.say(f"{place} = {f'T.cast({value}, {STORED[dtype]!r})' if dtype == 'bool' else value}")
        elif dtype in ATOMIC[op.function]:
            self.say(f"T.{op.function}({place}, {value})")
        else:
            raise Unsupported(f"{op.function} on {dtype} has no form in TileLang.", "Use a tensor of f32 or i32.")
        self.lines = outside

    def is_result(self, op: Op, axes: tuple[str, ...]) -> bool:
        """Whether a whole box of half precision is stored beside products, which hold two neighbours in a thread.

        By way of shared memory a thread writes eight at once.
        """
        stored = self.terms.tensors[op.destination.tensor].dtype in ("f16", "bf16")
        whole = self.ends(op.mask, op.destination, axes)
        return bool(self.products and stored and whole and op.function == "store") and (
            len(axes) == 2 and self.is_box(op.destination, axes) and op.destination.tensor not in self.updated
        )

    def tiles(self, op: Op) -> None:
        axis = op.tiled
        start, stop = (self.terms.term(bound) for bound in op.bounds)
        extent, step = self.terms.term(axis.extent), self.terms.term(axis.tile_size)
        if op.bounds[1] != axis.extent and not self.body.bounds.at_most(op.bounds[1], axis.extent):
            stop = Term(f"T.min({stop}, {extent})", "i64", narrow=stop.narrow and extent.narrow)
        low = self.terms.bounds.interval(op.bounds[0])[0]
        negative = low is None or low < 0
        distance = stop if start.text == "0" else Term(f"{stop.operand} - {start.operand}", "i64", LOOSE, stop.narrow)
        turns = self.count(distance, step)
        turn = self.body.unique(f"{axis.name}_turn")
        outside, line = self.lines, self.line
        head, body = outside.later(), outside.nest()
        self.lines = body
        counted = f"({turns} - 1 - {turn})" if op.reverse else turn
        place = counted if step.text == "1" else f"{counted} * {step.operand}"
        plus = "" if start.text == "0" else f"{start} + "
        begin = Term(self.body.unique(f"{axis.name}_at"), "i64", narrow=start.narrow and stop.narrow)
        self.say(f"{begin} = {plus}{place}")
        first = Term(f"T.max({begin}, 0)", "i64", narrow=begin.narrow) if negative else begin
        end = self.tile_end(axis, begin, stop)
        if negative:  # tiles that end before position 0 have no positions
            first = Term(self.body.unique(f"{axis.name}_first"), "i64", narrow=begin.narrow)
            self.say(f"{first} = T.max({begin}, 0)")
            self.block(f"if {first} < {end}:")
        self.open(axis, first, end, None if negative else stop)
        self.ops(op.body)
        self.lines = outside
        many = unrolled(op)
        loop = f"T.unroll({turns}, unroll_factor={many})" if many > 1 else f"T.serial({turns})"
        if ahead := self.stages(self, op, body):
            loop = f"T.Pipelined({turns}, num_stages={ahead})"
        head.add(f"for {turn} in {loop}:", line)

    def count(self, distance: Term, step: Term) -> str:
        """How many tiles there are; none over less than nothing."""
        if distance.text.isdigit() and step.text.isdigit():
            return str(-(-int(distance.text) // int(step.text)))
        return f"T.max(T.ceildiv({distance}, {step}), 0)"

    def range(self, op: Op) -> None:
        start, stop, by = (self.terms.term(bound) for bound in op.bounds)
        name = op.result.name
        if (start.text, by.text) == ("0", "1"):
            outside = self.block(f"for {name} in T.serial({stop}):")
        else:
            turn = self.body.unique(f"{name}_turn")
            span = f"{stop} - {start.operand}" if by.text[0] != "-" else f"{start} - {stop.operand}"
            size = by.text.removeprefix("-")
            outside = self.block(f"for {turn} in T.serial(T.max(T.ceildiv({span}, {size}), 0)):")
            self.say(f"{name} = {start} + {turn} * {by.operand}")
        self.terms.values[name] = Term(name, "i64", narrow=start.narrow and stop.narrow)
        self.ops(op.body)
        self.lines = outside

    def branch(self, op: Op) -> None:
        if isinstance(op.operand, Number):
            self.ops(op.body if op.operand.value else op.orelse)
            return
        for ops, head in ((op.body, f"if {self.terms.term(op.operand)}:"), (op.orelse, "else:")):
            if ops or head != "else:":
                outside = self.block(head)
                if not ops:
                    self.say("pass")
                self.ops(ops)
                self.lines = outside
