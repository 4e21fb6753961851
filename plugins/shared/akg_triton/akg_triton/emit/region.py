"""One parallel region of a kernel as a Triton function: assignments, stores, and what a launch must know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from akg_core.plugin.lower import Instance, Line
from akg_core.plugin.sketch import Call, Expr, Name, Number, ast
from akg_triton.dialect import Dialect
from akg_triton.emit.axes import START
from akg_triton.emit.loops import assigned
from akg_triton.emit.meeting import Room
from akg_triton.emit.order import Pairing, order, rows_first
from akg_triton.emit.residues import ResidueWriter
from akg_triton.emit.source import Source
from akg_triton.emit.terms import ATOM, SLOT, Axis, Scope, Term


@dataclass(frozen=True, slots=True)
class Function:
    """A Triton function and how it is launched.

    `programs`: extent and step of each grid. `blocks`: lanes that only the launch knows, by the name of the argument.
    `rooms`: memory that the launch allocates, handed over after the tensors. `most`: programs to launch at most, 0 for
    as many as there are places in the grid. `described`: tensors that it takes as descriptors, and rows and columns of
    their blocks. `members`: how many programs wait for each other, 0 where none do.
    """

    name: str
    lines: list[Line]
    tensors: tuple[str, ...]
    sizes: tuple[str, ...]
    blocks: tuple[tuple[str, Expr], ...]
    programs: tuple[tuple[Expr, Expr], ...]
    warps: int
    stages: int
    rooms: tuple[Room, ...] = ()
    most: int = 0
    described: tuple[tuple[str, tuple[int, int]], ...] = ()
    members: int = 0


def function(
    name: str, instance: Instance, grids: Sequence[ast.Grid], body: Sequence[ast.Statement], dialect: Dialect
) -> Function:
    """The function of one region: written twice, because the order of axes follows from what is accessed."""
    survey = RegionWriter(Source(instance, grids, body, dialect))
    survey.write()
    wanted = order(survey.visits, survey.order, survey.wishes())
    wanted = rows_first(wanted, survey.visits, survey.pairings)
    writer = RegionWriter(Source(instance, grids, body, dialect, wanted, frozenset(survey.single), survey.described))
    writer.write()
    return writer.result(name)


class RegionWriter(ResidueWriter):
    """Writes the whole region. `shared`: tensors that it both reads and writes."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.body = source.body
        self.shared = _shared(source.body)
        self.products: list[int] = []  # warps that suit each product of matrices
        self.pairings: list[Pairing] = []
        self.largest = 1

    def write(self) -> None:
        scope = Scope()
        for statement in self.body:  # sizes of grids may be named before them
            if isinstance(statement, ast.Assign) and statement.value.type and statement.value.type.uniform:
                value = self.size_of(statement.value, scope)
                if value is not None:
                    scope.values[statement.targets[0]] = value
        self.programs_of(scope)
        self.statements(self.body, scope)

    def wishes(self) -> list[list[str]]:
        """The orders of axes that hints ask for, by the names of their tiles."""
        nodes = list(ast.walk((tuple(self.grids), tuple(self.body))))
        hints = [h for n in nodes if isinstance(n, (ast.Grid, ast.Tiles, ast.Whole)) for h in n.hints]
        hints += [h for n in nodes if isinstance(n, Call) for h in n.keywords]
        names = {sketch: tile for (sketch, _), tile in self.names.items()}
        found = []
        for key, value in hints:
            if key == "order":
                axes = list(value.axes) if isinstance(value, ast.AxisList) else []
                axes += [n.id for n in ast.walk(value) if isinstance(n, Name)]
                found.append([names[axis] for axis in axes if axis in names])
        return found

    def size_of(self, expr: Expr, scope: Scope) -> Term | None:
        term = self.term(expr, scope)
        return term if term.expr is not None else None

    # --- statements -------------------------------------------------------------------------------------

    def statements(self, body: Sequence[ast.Statement], scope: Scope) -> None:
        for number, statement in enumerate(body):
            self.line = statement.place.line
            match statement:
                case ast.Assign():
                    self.assign(statement, scope, body[number + 1 :])
                case ast.Effect(call=call):
                    self.meet(call)
                    self.say(self.store(call, scope))
                case ast.Whole(axis=axis, extent=extent):
                    size = self.plain(extent, scope)
                    self.open(axis, scope, size, size, START, None, False)
                case ast.Grid():
                    self.tiles(
                        ast.Tiles(
                            statement.axis, statement.extent, statement.step, statement.body, place=statement.place
                        ),
                        scope,
                    )
                case ast.Tiles():
                    self.tiles(statement, scope)
                case ast.Range():
                    self.range(statement, scope)
                case ast.If():
                    self.branch(statement, scope)

    def meet(self, node: object) -> None:
        """Wait for the program's other threads before a tensor is touched that the kernel both reads and writes."""
        touched = {n.tensor for n in ast.walk(node) if isinstance(n, ast.Element)}
        if touched & self.shared and self.dialect.barrier:
            self.say(self.dialect.barrier)

    def assign(self, node: ast.Assign, scope: Scope, rest: Sequence[ast.Statement]) -> None:
        self.meet(node.value)
        self.target, self.rest = node.targets[0], rest
        call = node.value
        if isinstance(call, Call) and call.op == "split":
            self.split_index(node, call, scope, rest)
        elif isinstance(call, Call) and call.op == "split_float":
            self.split_float(node, call, scope, rest)
        else:
            assert call.type is not None
            self.direct = call
            self.bind(node.targets[0], self.term(call, scope), scope, rest, [*call.type.axes])

    def bind(self, target: str, term: Term, scope: Scope, rest: Sequence[ast.Statement], axes: Sequence[str]) -> None:
        """A name for a term. One that a later loop or branch assigns again gets a dtype and a shape that it keeps."""
        known = scope.values.get(target)
        carried = known is not None and known.fill == SLOT
        if carried or any(target in assigned(statement) for statement in rest):
            dtype = known.dtype if carried and known is not None else term.dtype
            slot = known.axes if carried and known is not None else tuple(a.name for a in self.tiles_of(axes, scope))
            kept = self.wide(self.strong(term)) if not term.weak else self.created(term, dtype)
            kept = self.convert(kept, dtype)
            kept = self.spread(kept, [self.axes[a] for a in slot])
            variable = (
                known.text if carried and known is not None else self.local(target, ("carried", dtype, kept.axes))
            )
            self.say(f"{variable} = {kept}")
            self.forget(variable)
            scope.values[target] = Term(variable, dtype, kept.axes, fill=SLOT)
            return
        if term.weak and isinstance(term.expr, Number):
            scope.values[target] = term
            return
        blocks = tuple(self.axes[a].block for a in term.axes)
        variable = self.local(target, (term.dtype, term.narrow, term.axes, blocks))
        if term.text != variable:
            self.say(f"{variable} = {term}")
            self.forget(variable)
        scope.values[target] = replace(term, text=variable, rank=ATOM)

    def tiles_of(self, axes: Sequence[str], scope: Scope) -> list[Axis]:
        return [scope.axes[name] for name in axes if not scope.axes[name].unit]

    def split_index(self, node: ast.Assign, call: Call, scope: Scope, rest: Sequence[ast.Statement]) -> None:
        index = self.term(call.args[0], scope)
        inner = scope.inner()
        if not index.text.isidentifier():
            variable = self.fresh(node.targets[0] + "_at")
            self.say(f"{variable} = {index}")
            index = index.with_text(variable)
        inner.values["split index"] = index
        axes = call.args[0].type.axes if call.args[0].type else ()
        named = replace(call, args=(Name("split index", type=call.args[0].type), call.args[1]))
        for target, digit in zip(node.targets, self.split(named, scope), strict=True):
            self.bind(target, self.term(digit, inner), scope, rest, [*axes])

    def split_float(self, node: ast.Assign, call: Call, scope: Scope, rest: Sequence[ast.Statement]) -> None:
        """The narrow part of a value, and the narrow part of what that leaves."""
        assert call.type is not None and isinstance(call.args[1], ast.Text)
        wide = self.strong(self.term(call.args[0], scope))
        if not wide.text.isidentifier():
            variable = self.fresh(node.targets[0] + "_wide")
            self.say(f"{variable} = {wide}")
            wide = wide.with_text(variable)
        high = self.convert(wide, call.args[1].value)
        self.bind(node.targets[0], high, scope, rest, [*call.type.axes])
        back = self.convert(scope.values[node.targets[0]], wide.dtype)
        low = self.convert(self.joined("-", [wide, back], wide.dtype), call.args[1].value)
        self.bind(node.targets[1], replace(low, fill=None), scope, rest, [*call.type.axes])

    # --- what a launch needs ----------------------------------------------------------------------------

    def result(self, name: str) -> Function:
        """What was written, as a function of this name."""
        instance, rooms = self.source.instance, self.rooms()
        tensors = tuple(tensor.name for tensor in instance.kernel.tensors)
        sizes = (*(n for n in instance.dimensions if n not in instance.known), *instance.open)
        blocks = (f"{block}: tl.constexpr" for block in self.blocks)
        parameters = [*tensors, *(room.name for room in rooms), *sizes, *blocks]
        head = [Line("@triton.jit"), Line(f"def {name}({', '.join(parameters)}):")]
        doc = " ".join(instance.kernel.doc.replace('"', "'").replace("\\", "/").split())
        if doc:
            head.append(Line(f'    """{doc}"""'))
        lines = [*head, *self.top.flat(depth=1, nothing="pass")]
        if len(lines) == len(head):
            lines.append(Line("    pass"))
        return Function(
            name,
            lines,
            tensors,
            sizes,
            tuple(self.blocks.items()),
            tuple(self.programs),
            self.warps(),
            self.stages,
            rooms,
            self.dialect.units if self.persistent else 0,
            tuple(self.source.described.items()),
            int(self.members.text) if self.members is not None and rooms else 0,
        )

    def warps(self) -> int:
        """As the sketch says, else by the largest tile."""
        hint = self.hints.get("warps")
        if isinstance(hint, Number):
            return max(1, 1 << (int(hint.value).bit_length() - 1))
        if self.products:
            return max(self.products)
        largest = max([self.largest, *(self.lanes_of(visit.axes) for visit in self.visits)])
        room = self.dialect.register_elements
        if self.single:  # reads the same places again and again: many warps hide what that takes
            room //= 8
        elif self.members is not None:  # fewer warps leave room for more programs, of which some always wait
            room *= 2
        least = min(4, max(largest // self.dialect.lanes, 1))  # a thread for every element, when there are so few
        if self.stages > 1:  # what is under way is in no register
            room, least = 2 * room, 1
        wanted = largest * self.unrolled // room
        return min(max(least, 1 << max(wanted, 1).bit_length() - 1), self.dialect.most_warps)

    def passes_by(self) -> bool:
        return bool(self.products) and self.repeating > 0

    def fitted(self, terms: Sequence[Term]) -> tuple[list[Term], tuple[str, ...]]:
        fitted, axes = super().fitted(terms)
        self.largest = max(self.largest, self.lanes_of(axes))
        return fitted, axes

    def dotted(self, a: Term, b: Term, over: Sequence[Axis], held: str, precision: str, into: Term | None) -> Term:
        made = super().dotted(a, b, over, held, precision, into)
        lanes = self.lanes_of(made.axes)
        if self.exact(a.dtype, precision):  # without matrix units each thread keeps 32 sums in registers
            self.products.append(min(max(4, lanes // (32 * self.dialect.lanes)), self.dialect.most_warps))
        else:
            self.products.append(8 if lanes > 64 * 128 else 4)
            left, right = (tuple(n for n in t.axes if n not in u.axes) for t, u in ((a, b), (b, a)))
            names = tuple(axis.name for axis in over)
            narrow = a.dtype == "f32" and precision == "fast"
            self.pairings.append(Pairing((left, right), names, (self.lanes_of(left), self.lanes_of(right)), narrow))
        return made


def _shared(body: Sequence[ast.Statement]) -> set[str]:
    """Tensors that the region both reads and writes."""
    calls = [n for n in ast.walk(tuple(body)) if isinstance(n, Call) and n.args]
    touched = [(c.op == "load", c.args[0].tensor) for c in calls if isinstance(c.args[0], ast.Element)]
    return {name for reads, name in touched if reads} & {name for reads, name in touched if not reads}
