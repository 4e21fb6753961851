"""Loads, stores and kept values as C++: what is contiguous along the lanes is one vector, masks only where needed."""

from __future__ import annotations

from dataclasses import dataclass

from akg_core.plugin.lower import Body, Op, Plan, Value, fold, on_lines, place, place_drift, step
from akg_core.plugin.sketch import (
    INDEX,
    Binary,
    Call,
    Element,
    Expr,
    Name,
    Number,
    Polynomial,
    number,
    polynomial,
    rewrite,
)
from akg_plugin_cpp_cpu.emit.expression import ExpressionWriter, dtype_of
from akg_plugin_cpp_cpu.emit.scope import Scope, Term

MOST_LANES = 16  # of any instruction set; `LANES` divides it


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

    `whole`: a condition for all lanes together. `run`: arguments (first index, step, size) of the one index that moves
    evenly along the lanes. `lanes`: a mask, for anything else.
    """

    whole: str = ""
    run: str = ""
    lanes: str = ""


class MemoryWriter(ExpressionWriter):
    """Expressions with loads from tensors and from buffers of kept values."""

    def __init__(self, body: Body) -> None:
        super().__init__(body)
        self.tensors = {t.name: t for t in body.kernel.tensors}
        maps = (op for op in body.ops() if op.kind == "map")
        self.formulas = {op.target.name: op.expr for op in maps if op.target and op.expr and not op.target.mutable}
        self.formulas |= {v.name: v.definition for v in body.values.values() if v.definition is not None}
        self.buffers: dict[Value, Buffer] = {}
        self.streamed: set[str] = set()
        self.plan: Plan

    # --- names ----------------------------------------------------------------------------------------------

    def name(self, expr: Name, scope: Scope) -> Term:
        value = self.body.values.get(expr.id)
        if value is not None and value.definition is not None:
            return self.virtual(value, scope)
        if value is not None and value in self.buffers:
            return scope.find(f"{value.name} at hand") or self.kept(value, scope)
        if scope.lane is not None and expr.id == scope.lane.axis:
            return Term(f"iota<i64>({expr.id})", "i64", True)
        found = scope.find(expr.id)
        if found is not None and found.text:
            return found
        if expr.id in self.body.axes:
            return self.term(self.body.axes[expr.id].begin, scope)  # one position, or the first of a tile
        return Term(expr.id, dtype_of(expr))

    def virtual(self, value: Value, scope: Scope) -> Term:
        """A value that is computed where it is used: once a scope."""
        expr = Name(value.name)
        assert value.definition is not None
        home = scope.home(set(self.body.names_of(value.definition)))
        definition = value.definition
        if isinstance(definition, Call) and definition.op == "load":
            return self.load(definition, scope, value.name)
        return self.remember(expr, value.name, home, scope, lambda: self.term(definition, home))

    def kept(self, value: Value, scope: Scope) -> Term:
        """A value in a buffer, at the position at hand."""
        return self.read(self.buffers[value], scope)

    def read(self, buffer: Buffer, scope: Scope) -> Term:
        """What a buffer holds for the position at hand, or for a vector of positions."""
        at, lane = self.buffer_place(buffer, scope), scope.lane
        if lane is None or lane.axis not in buffer.axes:
            return Term(f"{buffer.name}[{at}]", buffer.dtype)
        stride = buffer.strides[buffer.axes.index(lane.axis)]
        if stride == Number(1):
            return Term(f"load({plus(buffer.name, at)}, {lane.part})", buffer.dtype, True)
        by = self.index(stride, scope)
        return Term(f"load_strided({plus(buffer.name, at)}, {by}, {lane.part}.n)", buffer.dtype, True)

    def write(self, buffer: Buffer, term: Term, scope: Scope) -> None:
        """Put a term of the buffer's dtype where the position at hand belongs."""
        at, lane = self.buffer_place(buffer, scope), scope.lane
        if lane is None or lane.axis not in buffer.axes:
            scope.lines.add(f"{buffer.name}[{at}] = {term};", self.line)
            return
        stride = buffer.strides[buffer.axes.index(lane.axis)]
        if stride == Number(1):
            scope.lines.add(f"store({plus(buffer.name, at)}, {self.vector(term)}, {lane.part});", self.line)
        else:
            where, by = plus(buffer.name, at), self.index(stride, scope)
            scope.lines.add(f"store_strided({where}, {by}, {self.vector(term)}, {lane.part}.n);", self.line)

    def buffer_place(self, buffer: Buffer, scope: Scope) -> str:
        """The place in a buffer of the first lane."""
        terms = []
        for axis, stride in zip(buffer.axes, buffer.strides, strict=True):
            offset = polynomial(fold(Binary("-", Name(axis, type=INDEX), self.body.axes[axis].begin, type=INDEX)))
            found = scope.find(axis)
            if found is not None and found.text != axis:  # the axis is not open: the tile's first position
                continue
            text, by = self.sum(offset, scope), self.index(stride, scope)
            if by == "1":
                terms.append(text)
            else:
                terms.append(f"{text if text.isidentifier() else f'({text})'} * {by}")
        return " + ".join(terms) or "0"

    def keep(self, value: Value, term: Term, scope: Scope) -> None:
        """Write a value where it lives."""
        if value not in self.buffers:
            held = scope.find(value.name)
            assert held is not None, value
            scope.lines.add(f"{held} = {self.vector(term) if held.vector else term};", self.line)
            return
        self.write(self.buffers[value], term, scope)

    # --- places in tensors ------------------------------------------------------------------------------------

    def sum(self, p: Polynomial, scope: Scope) -> str:
        """A polynomial as C++, atoms at the first lane. The constant comes last."""
        head = self.at_head(scope)
        terms: list[tuple[int, str]] = []
        for product, factor in sorted(p.terms, key=_widest):
            texts = [self.term(atom, head).operand for atom in product]
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
            terms = [self.term(atom, scope) for atom in product]
            vectors = [self.vector(t) for t in terms] or [f"Vec<i64>({factor})"]
            text = " * ".join(vectors) + (f" * Vec<i64>({factor})" if product and factor != 1 else "")
            total = f"{total} + {text}" if total else text
        return total or "Vec<i64>(0)"

    def guard(self, element: Element, scope: Scope) -> Guard:
        """Checks of the indices that are not proved to be inside."""
        whole, runs, lanes = [], [], []
        for index, size in zip(element.indices, self.tensors[element.tensor].dims, strict=True):
            if self.body.bounds.within(index, size):
                continue
            limit = self.index(size, scope)
            if self.even(index, scope):
                whole.append(f"inside({self.index(index, scope)}, {limit})")
                continue
            gain = self.lane_step(index, scope)
            if gain is not None:
                runs.append(f"{self.index(index, scope)}, {gain}, {limit}")
            else:
                lanes.append(f"inside({self.vector(self.term(index, scope))}, {limit})")
        if len(runs) == 1 and not lanes:
            return Guard(" && ".join(whole), runs[0])
        return Guard(" && ".join(whole), lanes=" & ".join([*(f"window({run})" for run in runs), *lanes]))

    def load(self, call: Call, scope: Scope, hint: str = "") -> Term:
        """A load, named once and moved out of the loops that do not change it."""
        element = call.args[0]
        assert isinstance(element, Element)
        tensor = self.tensors[element.tensor]
        if tensor.role != "In" or any(v.mutable for v in self.body.values_of(call)):
            return self.loaded(call, element, scope)
        home = scope.home(set(self.body.names_of(call)))
        return self.remember(
            call, hint or f"{element.tensor}_at", home, scope, lambda: self.loaded(call, element, home)
        )

    def loaded(self, call: Call, element: Element, scope: Scope) -> Term:
        tensor = self.tensors[element.tensor]
        dtype, name = tensor.dtype, element.tensor
        where = place(element.indices, tensor.dims)
        guard = self.guard(element, scope)
        other = dict(call.keywords).get("other", Number(0, type=call.type))
        lane = scope.lane
        if lane is None or all(self.even(i, scope) for i in element.indices):
            text = f"{name}[{self.sum(where, scope)}]"
            if not guard.whole:
                return Term(text, dtype)
            return Term(f"{guard.whole} ? {text} : {self.term(other, scope)}", dtype, atomic=False)
        outside = self.term(other, scope)
        gain = step(self.body, where, lane.axis, lane.segment)
        mask = " & ".join(m for m in (guard.lanes, f"window({guard.run})" * bool(guard.run)) if m)
        masked = f"{mask} & {lane.part}.mask()" if mask else f"{lane.part}.mask()"
        fixed, moving = (number(0), where) if gain is not None else self.parted(where, scope)
        source = plus(name, self.sum(where if gain is not None else fixed, scope))
        if gain is not None and not guard.lanes and guard.run:
            text = f"load_inside({source}, {self.sum(gain, scope)}, {guard.run}, {lane.part}, {outside})"
        elif gain is not None and gain.constant == 1:
            text = f"load({source}, {masked}, {outside})" if mask else f"load({source}, {lane.part})"
        elif gain is not None and not mask:
            text = f"load_strided({source}, {self.sum(gain, scope)}, {lane.part}.n)"
        elif gain is None and not mask:
            text = self.gathered(source, moving, scope)
        else:
            text = f"gather({source}, {self.lane_places(moving, gain, scope)}, {masked}, {outside})"
        if guard.whole:
            text = f"{guard.whole} ? {text} : {self.vector(outside)}"
            return Term(text, dtype, True, atomic=False)
        return Term(text, dtype, True)

    def parted(self, where: Polynomial, scope: Scope) -> tuple[Polynomial, Polynomial]:
        """A place as what all lanes share and what each has of its own."""
        own = tuple(t for t in where.terms if not all(self.even(atom, scope) for atom in t[0]))
        return where + -Polynomial(own), Polynomial(own)

    def gathered(self, source: str, moving: Polynomial, scope: Scope) -> str:
        """A load at places that do not move evenly; where they stay close, or may go one by one, without a gather."""
        lane = scope.lane
        assert lane is not None
        places = self.sum_of_lanes(moving, scope)
        least, most = place_drift(self.body, moving, lane.axis)
        if (least is not None and least >= 0) or (most is not None and most <= 0):
            return f"load_between({source}, {places}, {lane.part})"
        if most == 1:
            first, last = self.ends_of_lanes(moving, scope)
            return f"load_run({source}, {first}, {last}, {lane.part}, [&] {{ return {places}; }})"
        return f"gather({source}, {places}, {lane.part}.mask())"

    def ends_of_lanes(self, p: Polynomial, scope: Scope) -> tuple[str, str]:
        """A polynomial at the first lane and at the last one."""
        lane = scope.lane
        assert lane is not None

        def spelled(node: object) -> object:
            """What varies along the lanes by its formula: the variable that holds it is a vector."""
            if not isinstance(node, Name) or node.id not in self.formulas or self.even(node, scope):
                return node
            return rewrite(self.formulas[node.id], spelled)

        plain = Polynomial(tuple((tuple(rewrite(atom, spelled) for atom in atoms), by) for atoms, by in p.terms))
        last = self.at_head(scope)
        last.names[lane.axis] = Term(f"{lane.axis} + {lane.part}.n - 1", "i64", atomic=False)
        return self.sum(plain, self.at_head(scope)), self.sum(plain, last)

    def lane_places(self, where: Polynomial, gain: Polynomial | None, scope: Scope) -> str:
        """The places of the lanes: from the first one when they are evenly spaced, else in full."""
        if gain is None:
            return self.sum_of_lanes(where, scope)
        return f"iota<i64>() * Vec<i64>({self.sum(gain, scope)})"

    # --- stores -------------------------------------------------------------------------------------------------

    def store(self, op: Op, scope: Scope) -> None:
        """A store or an atomic."""
        element = op.element
        assert element is not None and op.expr is not None
        value = self.term(op.expr, scope)
        guard = self.guard(element, scope)
        where = place(element.indices, self.tensors[element.tensor].dims)
        text = self.written(op, element, where, value, guard, scope)
        if guard.whole:
            text = f"if ({guard.whole}) {text}"
        scope.lines.add(text, self.line)

    def written(self, op: Op, element: Element, where: Polynomial, value: Term, guard: Guard, scope: Scope) -> str:
        name, lane = element.tensor, scope.lane
        if lane is None or all(self.even(i, scope) for i in element.indices):
            single = f"lane({value}, 0)" if value.vector else str(value)
            if op.function == "store":
                return f"{name}[{self.sum(where, scope)}] = {single};"
            return f"{op.function}({plus(name, self.sum(where, scope))}, {single});"
        gain = step(self.body, where, lane.axis, lane.segment)
        source = name if gain is None else plus(name, self.sum(where, scope))
        vector = self.vector(value)
        checks = [m for m in (guard.lanes, f"window({guard.run})" * bool(guard.run)) if m]
        mask = " & ".join([*checks, f"{lane.part}.mask()"])
        if op.function != "store":
            combine = op.function.replace("atomic", "scatter")
            return f"{combine}({source}, {self.lane_places(where, gain, scope)}, {vector}, {mask});"
        if gain is not None and gain.constant == 1:
            if checks:
                return f"store({source}, {vector}, {mask});"
            if dict(op.hints).get("stream") == Number(True) and on_lines(
                self.body, where, lane.axis, lane.segment, MOST_LANES
            ):
                self.streamed.add(name)
                return f"stream_if({name}_fresh, {source}, {vector}, {lane.part});"
            return f"store({source}, {vector}, {lane.part});"
        if gain is not None and not checks:
            return f"store_strided({source}, {self.sum(gain, scope)}, {vector}, {lane.part}.n);"
        return f"scatter({source}, {self.lane_places(where, gain, scope)}, {vector}, {mask});"


def plus(name: str, offset: str) -> str:
    return name if offset == "0" else f"{name} + {offset}"


def _widest(term: tuple[tuple[Expr, ...], int]) -> tuple[int, int]:
    """Sorts the longest steps first, the constant last."""
    product, factor = term
    return (-len(product), -abs(factor)) if product else (1, 0)
