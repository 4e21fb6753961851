"""Loads, stores and kept values as C++: what is contiguous along the lanes is one vector, masks only where needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from akg_core.plugin import lower
from akg_core.plugin.lower import Axis, Body, LaneAccess, Op, Plan, Value, dtype_of, element_of, fold
from akg_core.plugin.sketch import INDEX, Binary, Call, Element, Expr, Name, Number, Polynomial, polynomial
from akg_plugin_cpp_cpu.emit.expression import ExpressionPrinter, register
from akg_plugin_cpp_cpu.emit.scope import Lane, Scope, Term

MOST_LANES = 16  # of any instruction set; `LANES` divides it
STACK_ELEMENTS = 4096  # a buffer of at most this many elements lives on the stack


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory of one program for a value: its name, element dtype, and the stride of each of its axes."""

    name: str
    dtype: str
    axes: tuple[str, ...]
    strides: tuple[Expr, ...]
    size: Expr


@dataclass(frozen=True, slots=True)
class Guard:
    """What must hold for an element to be inside its tensor.

    `whole`: a condition for all lanes together. `lanes`: a mask of those inside. `run`: where that is about one index
    that moves evenly along the lanes, its first value, its step and the size.
    """

    whole: str = ""
    run: str = ""
    lanes: str = ""


class MemoryPrinter:
    """Prints accesses to tensors and to buffers of kept values, by the expressions in them, which are `terms`."""

    def __init__(self, body: Body) -> None:
        self.body, self.terms = body, ExpressionPrinter(body, self.load, self.name)
        self.emit = self.terms.emit
        self.tensors = body.tensors
        self.formulas = lower.formulas(body)
        self.buffers: dict[Value, Buffer] = {}
        self.streamed: set[str] = set()
        self.updated: dict[str, str] = {}  # by tensor, the variable that joins updates to it
        self.scattered: set[str] = set()  # of these, who gets some that are no vector side by side
        self.declared: set[Value] = set()

    # --- names ----------------------------------------------------------------------------------------------

    def name(self, expr: Name, scope: Scope) -> Term:
        value = self.body.values.get(expr.id)
        if value is not None and value.definition is not None:
            return self.virtual(value, scope)
        if value is not None and value in self.buffers:
            return scope.recall(Name(value.name)) or self.read(self.buffers[value], scope)
        if scope.lane is not None and expr.id == scope.lane.axis:
            return Term(f"iota<i64>({expr.id})", "i64", True)
        found = scope.find(expr.id)
        if found is not None and found.text:
            return found
        if expr.id in self.body.axes:
            return self.terms.term(self.body.axes[expr.id].begin, scope)  # one position, or the first of a tile
        return Term(expr.id, dtype_of(expr))

    def virtual(self, value: Value, scope: Scope) -> Term:
        """A value that is computed where it is used: once a scope."""
        expr = Name(value.name)
        assert value.definition is not None
        home = scope.home(set(self.body.names_of(value.definition)))
        definition = value.definition
        if isinstance(definition, Call) and definition.op == "load":
            return self.load(definition, scope, value.name)
        return self.terms.remember(expr, value.name, home, scope, lambda: self.terms.term(definition, home))

    def read(self, buffer: Buffer, scope: Scope) -> Term:
        """What a buffer holds for the position at hand, or for a vector of positions."""
        at, lane = self.buffer_place(buffer, scope), scope.lane
        if lane is None or not scope.along(buffer.axes):
            return Term(f"{buffer.name}[{at}]", buffer.dtype)
        stride = buffer.strides[buffer.axes.index(lane.axis)]
        if stride == Number(1):
            return Term(f"load({plus(buffer.name, at)}, {lane.part})", buffer.dtype, True)
        by = self.terms.index(stride, scope)
        return Term(f"load_strided({plus(buffer.name, at)}, {by}, {lane.part}.n)", buffer.dtype, True)

    def write(self, buffer: Buffer, term: Term, scope: Scope) -> None:
        """Put a term of the buffer's dtype where the position at hand belongs."""
        at, lane = self.buffer_place(buffer, scope), scope.lane
        if lane is None or not scope.along(buffer.axes):
            self.emit(f"{buffer.name}[{at}] = {term};", scope)
            return
        stride = buffer.strides[buffer.axes.index(lane.axis)]
        if stride == Number(1):
            self.emit(f"store({plus(buffer.name, at)}, {self.terms.vector(term)}, {lane.part});", scope)
        else:
            where, by = plus(buffer.name, at), self.terms.index(stride, scope)
            self.emit(f"store_strided({where}, {by}, {self.terms.vector(term)}, {lane.part}.n);", scope)

    def buffer_place(self, buffer: Buffer, scope: Scope) -> str:
        """The place in a buffer of the first lane."""
        terms = []
        for axis, stride in zip(buffer.axes, buffer.strides, strict=True):
            offset = polynomial(fold(Binary("-", Name(axis, type=INDEX), self.body.axes[axis].begin, type=INDEX)))
            found = scope.find(axis)
            if found is not None and found.text != axis:  # the axis is not open: the tile's first position
                continue
            text, by = self.sum(offset, scope), self.terms.index(stride, scope)
            if by == "1":
                terms.append(text)
            else:
                terms.append(f"{text if text.isidentifier() else f'({text})'} * {by}")
        return " + ".join(terms) or "0"

    def assign(self, value: Value, term: Term, scope: Scope) -> None:
        """A value gets its content: a new constant in a register, or a write to where it lives."""
        if value in self.buffers:
            if not value.mutable:  # later ops of this turn read the register, not the buffer
                name = self.terms.fresh(f"{value.name}_here")
                self.emit(f"const auto {name} = {term};", scope)
                scope.known[Name(value.name)] = term = Term(name, value.dtype, term.vector)
            self.write(self.buffers[value], term, scope)
            return
        known = scope.find(value.name) if value in self.declared else None
        vector = known.vector if known else scope.along(value.axes)
        kind = "" if known else f"{'' if value.mutable else 'const '}{register(value.dtype, vector)} "
        self.emit(f"{kind}{value.name} = {self.terms.vector(term) if vector else term};", scope)
        if not known:
            self.declared.add(value)
            scope.names[value.name] = Term(value.name, value.dtype, vector)

    def allocate(self, plan: Plan, scope: Scope) -> None:
        """A buffer for each value of a region that crosses loops, declared at its beginning."""
        self.plan, self.root, self.arena_used = plan, scope, False
        self.declarations = scope.lines.later()
        for value, axes in plan.kept.items():
            if axes:
                self.buffers[value] = self.buffer(value.name, value.dtype, axes)

    def buffer(self, name: str, dtype: str, axes: Sequence[str]) -> Buffer:
        """Declare memory of the program for a tile along `axes`, the last one contiguous."""
        lines = self.declarations
        strides: list[Expr] = []
        size: Expr = Number(1, type=INDEX)
        for axis in reversed(axes):
            strides.insert(0, size)
            size = fold(Binary("*", size, self.capacity(self.body.axes[axis]), type=INDEX))
        if isinstance(size, Number) and size.value <= STACK_ELEMENTS:
            lines.add(f"alignas(64) {dtype} {name}[{size.value} + LANES];", self.terms.line)
        else:
            if not self.arena_used:
                lines.add("Arena& arena = scratch();")
                lines.add("Arena::Frame frame(arena);")
                self.arena_used = True
            lines.add(
                f"{dtype}* const {name} = arena.take<{dtype}>({self.terms.index(size, self.root)});", self.terms.line
            )
        return Buffer(name, dtype, tuple(axes), tuple(strides), size)

    def capacity(self, axis: Axis) -> Expr:
        if axis.capacity is not None:
            return Number(axis.capacity, type=INDEX)
        return axis.extent if axis.step is None else axis.step

    # --- places in tensors ------------------------------------------------------------------------------------

    def sum(self, p: Polynomial, scope: Scope) -> str:
        """A polynomial as C++, atoms at the first lane. The constant comes last."""
        head = self.terms.at_head(scope)
        terms: list[tuple[int, str]] = []
        for product, factor in sorted(p.terms, key=_widest):
            texts = [self.terms.term(atom, head).operand for atom in product]
            if "0" in texts:
                continue
            if abs(factor) != 1 or not texts:
                texts.append(str(abs(factor)))
            terms.append((factor, " * ".join(texts)))
        if not terms:
            return "0"
        terms.sort(key=lambda t: t[0] < 0)
        text = terms[0][1] if terms[0][0] > 0 else f"-{terms[0][1]}"
        return text + "".join(f" {'+' if factor > 0 else '-'} {term}" for factor, term in terms[1:])

    def sum_of_lanes(self, p: Polynomial, scope: Scope) -> str:
        """A polynomial as a vector of places."""
        total = ""
        for product, factor in p.terms:
            terms = [self.terms.term(atom, scope) for atom in product]
            vectors = [t.operand if t.vector else self.terms.vector(t) for t in terms] or [f"Vec<i64>({factor})"]
            text = " * ".join(vectors) + (f" * Vec<i64>({factor})" if product and factor != 1 else "")
            total = f"{total} + {text}" if total else text
        return total or "Vec<i64>(0)"

    def access(self, element: Element, scope: Scope) -> LaneAccess:
        lane = scope.lane
        return lower.lane_access(self.body, element, lane.axis if lane else None, lane.segment if lane else None)

    def guard(self, access: LaneAccess, scope: Scope) -> Guard:
        """The checks of the indices that are not proved to be inside."""
        whole, runs, lanes = [], [], []
        for check in access.checks:
            limit = self.terms.index(check.size, scope)
            if check.step == 0:
                whole.append(f"inside({self.terms.index(check.index, scope)}, {limit})")
            elif check.step is not None:
                runs.append(f"{self.terms.index(check.index, scope)}, {check.step}, {limit}")
            else:
                lanes.append(f"inside({self.terms.vector(self.terms.term(check.index, scope))}, {limit})")
        run = runs[0] if len(runs) == 1 and not lanes else ""
        return Guard(" && ".join(whole), run, " & ".join([*(f"window({run})" for run in runs), *lanes]))

    def load(self, call: Call, scope: Scope, hint: str = "") -> Term:
        """A load, named once and moved out of the loops that do not change it."""
        element = element_of(call)
        tensor = self.tensors[element.tensor]
        if tensor.role != "In" or any(v.mutable for v in self.body.values_of(call)):
            return self.loaded(call, element, scope)
        home = scope.home(set(self.body.names_of(call)))
        return self.terms.remember(
            call, hint or f"{element.tensor}_at", home, scope, lambda: self.loaded(call, element, home)
        )

    def loaded(self, call: Call, element: Element, scope: Scope) -> Term:
        dtype, lane = self.tensors[element.tensor].dtype, scope.lane
        access = self.access(element, scope)
        guard = self.guard(access, scope)
        outside = self.terms.term(dict(call.keywords).get("other", Number(0, type=call.type)), scope)
        if lane is None or access.single:
            text = f"{element.tensor}[{self.sum(access.base, scope)}]"
            checked = f"{guard.whole} ? {text} : {outside}"
            return Term(checked, dtype, atomic=False) if guard.whole else Term(text, dtype)
        source, mask = plus(element.tensor, self.sum(access.base, scope)), f"{guard.lanes} & {lane.part}.mask()"
        if access.step is not None and guard.run:
            text = f"load_inside({source}, {self.sum(access.step, scope)}, {guard.run}, {lane.part}, {outside})"
        elif access.contiguous:
            text = f"load({source}, {mask}, {outside})" if guard.lanes else f"load({source}, {lane.part})"
        elif guard.lanes:
            text = f"gather({source}, {self.lane_places(access, scope)}, {mask}, {outside})"
        elif access.step is not None:
            text = f"load_strided({source}, {self.sum(access.step, scope)}, {lane.part}.n)"
        else:
            text = self.gathered(source, access, lane, scope)
        if guard.whole:
            return Term(f"{guard.whole} ? {text} : {self.terms.vector(outside)}", dtype, True, atomic=False)
        return Term(text, dtype, True)

    def gathered(self, source: str, access: LaneAccess, lane: Lane, scope: Scope) -> str:
        """A load at places that do not move evenly; where they stay close, or may go one by one, without a gather."""
        places, known = self.lane_places(access, scope), lower.order(self.body, access, lane.axis)
        if known == "monotonic":
            return f"load_between({source}, {places}, {lane.part})"
        if known == "one by one":
            first, last = self.ends_of_lanes(access.own, lane, scope)
            return f"load_run({source}, {first}, {last}, {lane.part}, [&] {{ return {places}; }})"
        return f"gather({source}, {places}, {lane.part}.mask())"

    def ends_of_lanes(self, p: Polynomial, lane: Lane, scope: Scope) -> tuple[str, str]:
        """A polynomial at the first lane and at the last one; a variable that varies along the lanes is a vector."""
        plain = lower.spelled(p, self.formulas, lambda name: self.terms.even(name, scope))
        last = self.terms.at_head(scope)
        last.names[lane.axis] = Term(f"{lane.axis} + {lane.part}.n - 1", "i64", atomic=False)
        return self.sum(plain, self.terms.at_head(scope)), self.sum(plain, last)

    def lane_places(self, access: LaneAccess, scope: Scope) -> str:
        """How far from the base each lane reaches."""
        if access.step is None:
            return self.sum_of_lanes(access.own, scope)
        return f"iota<i64>() * Vec<i64>({self.sum(access.step, scope)})"

    # --- stores -------------------------------------------------------------------------------------------------

    def store(self, op: Op, scope: Scope) -> None:
        """A store or an atomic."""
        value, access = self.terms.term(op.operand, scope), self.access(op.destination, scope)
        guard = self.guard(access, scope)
        text = self.written(op, access, op.destination.tensor, value, guard.lanes, scope)
        self.emit(f"if ({guard.whole}) {text}" if guard.whole else text, scope)

    def written(self, op: Op, access: LaneAccess, name: str, value: Term, checks: str, scope: Scope) -> str:
        at, lane = self.sum(access.base, scope), scope.lane
        if lane is None or access.single:
            single = f"lane({value}, 0)" if value.vector else str(value)
            if op.function == "store":
                return f"{name}[{at}] = {single};"
            self.scattered.add(name)
            function = f"{self.updated[name]}.one" if name in self.updated else op.function
            return f"{function}({plus(name, at)}, {single});"
        target, vector = plus(name, at), self.terms.vector(value)
        mask = f"{checks} & {lane.part}.mask()" if checks else f"{lane.part}.mask()"
        if op.function == "store" and access.contiguous:
            lined = dict(op.hints).get("stream") == Number(True) and not checks
            if lined and lower.on_lines(self.body, access.base, lane.axis, lane.segment, MOST_LANES):
                self.streamed.add(name)
                return f"stream_if({name}_fresh, {target}, {vector}, {lane.part});"
            return f"store({target}, {vector}, {mask if checks else lane.part});"
        if op.function == "store" and access.step is not None and not checks:
            return f"store_strided({target}, {self.sum(access.step, scope)}, {vector}, {lane.part}.n);"
        if name in self.updated:
            if access.contiguous:
                return f"{self.updated[name]}.row({target}, {vector}, {mask});"
            self.scattered.add(name)
            return f"{self.updated[name]}.lanes({target}, {self.lane_places(access, scope)}, {vector}, {mask});"
        combine = op.function.replace("atomic", "scatter").replace("store", "scatter")
        return f"{combine}({target}, {self.lane_places(access, scope)}, {vector}, {mask});"


def plus(name: str, offset: str) -> str:
    return name if offset == "0" else f"{name} + {offset}"


def _widest(term: tuple[tuple[Expr, ...], int]) -> tuple[int, int]:
    """Sorts the longest steps first, the constant last."""
    product, factor = term
    return (-len(product), -abs(factor)) if product else (1, 0)
