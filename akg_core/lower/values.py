"""Expressions of a kernel over unique names; what must see a whole axis first becomes an op of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from akg_core.dtypes import is_float
from akg_core.lower.access import place, step
from akg_core.lower.fold import fold
from akg_core.lower.ir import Axis, Body, Op, Value, element_of
from akg_core.lower.specialise import Instance
from akg_core.sketch import ast
from akg_core.sketch.affine import INDEX, Bounds
from akg_core.sketch.ast import Binary, Call, Element, Expr, Name, Number, Text, Type
from akg_core.sketch.ops import OPERATIONS

Scope = dict[str, "Value | Axis | Expr"]
PROGRAM = ("program", "member")  # where a program stands in the grid, for emitters that count programs


class ValueLowering:
    """Lowers expressions; ops that they need go to the list handed along, in front of what uses them."""

    def __init__(self, instance: Instance, reserved: frozenset[str]) -> None:
        self.kernel = instance.kernel
        self.tensors = {t.name: t for t in self.kernel.tensors}
        taken = set(reserved) | set(self.tensors) | set(instance.dimensions) | set(instance.open)
        self.extents: dict[str, Expr] = {}
        self.counters: dict[str, tuple[Expr, Expr]] = {}
        self.formulas: dict[str, Expr] = {}
        bounds = Bounds(self.extents, self.counters, frozenset({*instance.dimensions, *PROGRAM}), self.formulas)
        self.body = Body(self.kernel, [], {}, {}, bounds, taken)

    # --- names, values, axes ---

    def value(self, name: str, axes: Iterable[str], dtype: str, definition: Expr | None = None) -> Value:
        made = self.body.fresh(name, axes, dtype)
        made.definition = definition
        return made

    def name(self, value: Value) -> Name:
        return Name(value.name, type=Type(value.axes, value.dtype))

    def axes(self, names: Iterable[str], scope: Scope) -> list[str]:
        """Unique names of the axes that the sketch calls `names`, units left out."""
        found = (scope[name] for name in names)
        return [axis.name for axis in found if isinstance(axis, Axis) and not axis.unit]

    def axes_of(self, expr: Expr, scope: Scope) -> list[str]:
        return self.axes(expr.type.axes if expr.type else (), scope)

    # --- expressions ---

    def scalar_or_index(self, expr: Expr, scope: Scope, ops: list[Op]) -> Expr:
        lowered = self.expression(expr, scope, ops)
        if is_arithmetic(lowered, self.body) and not any(v.mutable for v in self.body.values_of(lowered)):
            return lowered
        return self.named("at" if expr.type and expr.type.axes else "s", expr, lowered, scope, ops)

    def named(self, hint: str, expr: Expr, lowered: Expr, scope: Scope, ops: list[Op], dtype: str = "") -> Name:
        """What an expression is lowered to, under a name; of the expression's dtype, or of another."""
        kept = self.value(hint, self.axes_of(expr, scope), dtype or expr.dtype)
        ops.append(Op("map", expr.place, target=kept, expr=lowered))
        return self.name(kept)

    def plain(self, expr: Expr, scope: Scope) -> Expr:
        """An expression known at launch."""
        ops: list[Op] = []
        lowered = self.expression(expr, scope, ops)
        assert not ops, "a size known at launch needs no ops"
        return lowered

    def expression(self, expr: Expr, scope: Scope, ops: list[Op], hint: str = "") -> Expr:
        """`expr` over unique names; what must see a whole axis first goes to `ops`, named after `hint`."""
        match expr:
            case Name(id=id):
                found = scope.get(id)
                if found is None:
                    return expr
                if isinstance(found, Axis):
                    return Name(found.name, place=expr.place, type=expr.type)
                return replace(self.name(found), place=expr.place) if isinstance(found, Value) else found
            case ast.Unary(operand=operand):
                return fold(replace(expr, operand=self.expression(operand, scope, ops)))
            case Binary(left=left, right=right):
                left, right = (self.expression(e, scope, ops) for e in (left, right))
                return fold(replace(expr, left=left, right=right))
            case Call(op=function):
                return self.call(expr, OPERATIONS[function].kind, scope, ops, hint)
        return expr

    def call(self, call: Call, kind: str, scope: Scope, ops: list[Op], hint: str) -> Expr:
        if kind == "load":
            return self.load(call, scope, ops)
        if kind == "create":
            return cast(self.expression(call.args[1], scope, ops) if call.op == "full" else _zero(call), call.dtype)
        if kind == "axis":
            (named,) = call.args
            axis = scope[named.id] if isinstance(named, Name) else None
            assert isinstance(axis, Axis)
            ends = {"begin": axis.begin, "end": axis.end}
            return ends.get(call.op) or fold(Binary("-", axis.end, axis.begin, type=INDEX))
        if kind in ("reduce", "argreduce", "pick", "scan", "sort", "all_reduce"):
            return self.along(call, kind, scope, ops, hint)
        if kind == "contract":
            return self.contract(call, scope, ops, hint)
        arguments = tuple(a if isinstance(a, Text) else self.expression(a, scope, ops) for a in call.args)
        return fold(replace(call, args=arguments))

    def element(self, node: Expr, scope: Scope, ops: list[Op]) -> Element:
        assert isinstance(node, Element)
        return replace(node, indices=tuple(self.expression(index, scope, ops) for index in node.indices))

    def load(self, call: Call, scope: Scope, ops: list[Op]) -> Expr:
        element = self.element(call.args[0], scope, ops)
        keywords = tuple((k, self.expression(v, scope, ops)) for k, v in call.keywords)
        loaded = replace(call, args=(element,), keywords=keywords)
        if self.tensors[element.tensor].role == "In":
            return loaded
        # What may be written meanwhile is read once, where the sketch reads it.
        return self.named(f"{element.tensor}_at", call, loaded, scope, ops)

    # --- along axes ---

    def along(self, call: Call, kind: str, scope: Scope, ops: list[Op], hint: str) -> Expr:
        """Reductions, scans and all-reductions: an op each; over axes of one position they are what they reduce."""
        operand = self.expression(call.args[0], scope, ops)
        axes = _names(call.args[1])
        over, axis = self.axes(axes, scope), scope[axes[0]]
        if kind in ("all_reduce", "argreduce"):
            assert isinstance(axis, Axis)
            if not over and kind == "argreduce":
                assert call.type is not None
                return Name(axis.name, type=replace(call.type, axes=frozenset()))
            over = [axis.name]
        if not over:
            return cast(operand, call.dtype)
        result = self.axes_of(call, scope)
        target = self.value(hint or call.op.removeprefix("reduce_"), result, call.dtype)
        if kind == "sort":
            operand = self.kept(call.args[0], operand, scope, ops)
        keywords = dict(call.keywords)
        reverse = keywords.get("reverse") == Number(True)
        hints = {name: keywords[name] for name in ("bitonic", "nan_elsewhere") if keywords.get(name) == Number(True)}
        name, function = {"argreduce": "reduce", "pick": "reduce"}.get(kind, kind), call.op
        if kind == "all_reduce":
            target.mutable = True  # what a program has, then what all have together
            ops.append(Op("map", call.place, target=target, expr=operand))
            operand = self.name(target)
        elif operand.type is not None and operand.dtype == "bool" and function in ("reduce_max", "reduce_min"):
            function = "reduce_any" if function == "reduce_max" else "reduce_all"
        made = Op(name, call.place, function, target, operand, over=tuple(over), reverse=reverse, hints=hints)
        ops.append(made)
        return self.name(target)

    def contract(self, call: Call, scope: Scope, ops: list[Op], hint: str) -> Expr:
        """A dot outside `x = dot(…, into=x)`: the product, and `into` added to it."""
        into = dict(call.keywords).get("into")
        start = call.dtype if into is None or into.type is None else into.dtype
        dtype = call.dtype if is_float(call.dtype) == is_float(start) else "f32"
        target = self.value(hint or "product", self.axes_of(call, scope), dtype)
        op = self.product(call, scope, ops, target)
        if op is None:
            product = self.matrix_vector(call, scope, ops, target)
        else:
            ops.append(op)
            product = self.name(target)
        if into is None:
            return product
        return Binary("+", self.expression(into, scope, ops), product, place=call.place, type=call.type)

    def product(self, call: Call, scope: Scope, ops: list[Op], target: Value) -> Op | None:
        """A dot op for `target`; None when one side has no axis of its own, which a plain reduction does better."""
        over = self.axes(_names(dict(call.keywords)["over"]), scope)
        a_axes, b_axes = (set(self.axes_of(a, scope)) for a in call.args[:2])
        if not over or not a_axes - b_axes or not b_axes - a_axes or not set(over) <= a_axes & b_axes:
            return None
        if target.dtype not in ("f32", "f64", "i32", "i64"):
            return None
        a, b = (self.operand(a, scope, ops) for a in call.args[:2])
        hints = {k: v for k, v in call.keywords if k != "into"}
        return Op("dot", call.place, "dot", target, a, b, tuple(over), accumulate=target.mutable, hints=hints)

    def operand(self, expr: Expr, scope: Scope, ops: list[Op]) -> Expr:
        """An operand of a matrix product: a plain load stays one, anything else is computed into a tile."""
        lowered = self.expression(expr, scope, ops)
        inner, _ = self.origin(lowered)
        if isinstance(inner, Call) and inner.op == "load":
            element = element_of(inner)
            sizes = self.tensors[element.tensor].dims
            where, axes = place(element.indices, sizes), self.body.axes_of(element)
            proved = all(map(self.body.bounds.within, element.indices, sizes))
            if proved and all(step(self.body, where, axis) is not None for axis in axes):
                return inner
        return self.kept(expr, lowered, scope, ops)

    def origin(self, lowered: Expr) -> tuple[Expr, Value | None]:
        """What an expression of virtual values is in the end, and the last of these."""
        held = None
        while isinstance(lowered, Name) and lowered.id in self.body.values and self.body.values[lowered.id].definition:
            held = self.body.values[lowered.id]
            assert held.definition is not None
            lowered = held.definition
        return lowered, held

    def kept(self, expr: Expr, lowered: Expr, scope: Scope, ops: list[Op]) -> Expr:
        """A tile that is all there before an op that needs it whole: the value that holds it, a new one if need be."""
        inner, held = self.origin(lowered)
        if isinstance(inner, Name) and inner.id in self.body.values:
            return inner
        if held is not None:
            held.definition = None  # computed once where the sketch assigns it
            return self.name(held)
        return self.named("operand", expr, lowered, scope, ops)

    def matrix_vector(self, call: Call, scope: Scope, ops: list[Op], target: Value) -> Expr:
        over = self.axes(_names(dict(call.keywords)["over"]), scope)
        a, b = (cast(self.expression(e, scope, ops), target.dtype) for e in call.args[:2])
        product = Binary("*", a, b, place=call.place, type=Type(dtype=target.dtype))
        if not over:
            return product
        hints = {k: v for k, v in call.keywords if k != "into"}
        ops.append(Op("reduce", call.place, "reduce_sum", target=target, expr=product, over=tuple(over), hints=hints))
        return self.name(target)


def is_arithmetic(expr: Expr, body: Body) -> bool:
    """Whether an expression is made of numbers, axes, dimensions and scalars by arithmetic alone."""
    for node in ast.walk(expr):
        if isinstance(node, Call) and node.op not in ("maximum", "minimum"):
            return False
        if isinstance(node, Name) and node.id in body.values and body.values[node.id].axes:
            return False
    return True


def _names(node: Expr) -> list[str]:
    if isinstance(node, Name):
        return [node.id]
    if isinstance(node, ast.AxisList):
        return list(node.axes)
    assert isinstance(node, ast.Group)
    return [item.id for item in node.items if isinstance(item, Name)]


def cast(expr: Expr, dtype: str) -> Expr:
    if expr.type is not None and expr.type.dtype == dtype and not expr.type.weak:
        return expr
    axes = expr.type.axes if expr.type else frozenset()
    return Call("cast", (expr, Text(dtype)), place=expr.place, type=Type(axes, dtype))


def _zero(call: Call) -> Number:
    return Number(0, place=call.place, type=Type(dtype="i64", uniform=True, weak=True))
