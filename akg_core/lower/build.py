"""Statements of a kernel become ops: names made unique, loops and branches kept, dependencies noted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from akg_core.lower.dependences import depend, prune
from akg_core.lower.fold import fold
from akg_core.lower.ir import Axis, Body, Op, Region, Value
from akg_core.lower.specialise import Instance
from akg_core.lower.values import Scope, ValueLowering, cast, is_arithmetic
from akg_core.sketch import ast
from akg_core.sketch.affine import INDEX, digits
from akg_core.sketch.ast import Binary, Call, Expr, Name, Number, Place, Type

KEPT = -1
CHEAP = 6  # a definition of at most this cost is computed again rather than kept


def body_of(instance: Instance, reserved: frozenset[str] = frozenset(), cheap: int = CHEAP) -> Body:
    """The ops of a checked, bound and specialised kernel. No name in them is in `reserved`.

    `cheap`: values over axes that cost at most so much are computed where they are used; KEPT: none are.
    """
    return _Lowering(instance, reserved, cheap).run()


class _Lowering(ValueLowering):
    def __init__(self, instance: Instance, reserved: frozenset[str], cheap: int) -> None:
        super().__init__(instance, reserved)
        self.cheap = cheap

    def run(self) -> Body:
        for grids, statements in regions(self.kernel.body):
            scope: Scope = {}
            for statement in statements:  # sizes of grids may be named before them
                if isinstance(statement, ast.Assign) and statement.value.type and statement.value.type.uniform:
                    for target in statement.targets:
                        scope[target] = self.plain(statement.value, scope)
            axes = tuple(self.grid_axis(grid, scope) for grid in grids)
            self.body.regions.append(Region(axes, self.block(statements, scope)))
        prune(self.body)
        for region in self.body.regions:
            _note_depth(region.ops, 0)
            for op in region.ops:
                depend(self.body, op)
        return self.body

    # --- axes ---

    def axis(self, name: str, extent: Expr, step: Expr | None, place: Place, scope: Scope) -> Axis:
        """A new axis in `scope`. Its tile begins and ends at scalars of its own, unless it is whole or one position."""
        unique = self.body.unique(name)
        sizes = [int(e.value) for e in (extent, step) if isinstance(e, Number)]
        capacity = min(sizes) if (step is None and sizes) or isinstance(step, Number) else None
        begin: Expr = Number(0, type=INDEX)
        end = extent
        if step is not None and capacity == 1 and isinstance(step, Number) and step.value == 1:
            begin = Name(unique, type=INDEX)
            end = Binary("+", begin, Number(1, type=INDEX), type=INDEX)
        elif step is not None:
            begin, end = (self.name(self.value(f"{unique}_{at}", (), "i64")) for at in ("begin", "end"))
            past = Binary("+", extent, Number(1, type=INDEX), type=INDEX)
            self.counters |= {begin.id: (Number(0), extent), end.id: (Number(0), fold(past))}
        made = Axis(unique, extent, begin, end, capacity, place, step=step)
        self.body.axes[unique] = made
        self.extents[unique] = extent
        scope[name] = made
        return made

    def grid_axis(self, grid: ast.Grid, scope: Scope) -> Axis:
        axis = self.axis(grid.axis, self.plain(grid.extent, scope), self.plain(grid.step, scope), grid.place, scope)
        axis.hints = dict(grid.hints)
        axis.cooperative = axis.hints.get("cooperative") == Number(True)
        return axis

    # --- statements ---

    def block(self, statements: Sequence[ast.Statement], scope: Scope) -> list[Op]:
        """The ops of one scope. What a nested loop or branch assigns again is kept in a mutable value."""
        ops: list[Op] = []
        for number, statement in enumerate(statements):
            match statement:
                case ast.Assign():
                    self.assign(statement, scope, statements[number + 1 :], ops)
                case ast.Effect(call=ast.Call(op="barrier", args=(ast.Name(id=axis),)), place=place):
                    along = scope[axis]
                    assert isinstance(along, Axis)
                    ops.append(Op("barrier", place, over=(along.name,)))
                case ast.Effect(call=call, place=place):
                    element = self.element(call.args[0], scope, ops)
                    stored = self.expression(call.args[1], scope, ops)
                    hints = dict(call.keywords)
                    ops.append(Op("store", place, call.op, expr=stored, element=element, hints=hints))
                case ast.Whole(axis=axis, extent=extent, place=place, hints=hints):
                    self.axis(axis, self.plain(extent, scope), None, place, scope).hints = dict(hints)
                case ast.Grid():
                    inner = dict(scope)
                    axis_ = self.grid_axis(statement, inner)
                    zero = Number(0, type=INDEX)
                    loop = Op("tiles", statement.place, axis=axis_, bounds=(zero, axis_.extent))
                    loop.body = self.block(statement.body, inner)
                    ops.append(loop)
                case ast.Tiles():
                    ops.append(self.tiles(statement, scope, ops))
                case ast.Range():
                    ops.append(self.range(statement, scope, ops))
                case ast.If():
                    condition = self.scalar_or_index(statement.condition, scope, ops)
                    branch = Op("if", statement.place, expr=condition)
                    branch.body = self.block(statement.body, dict(scope))
                    branch.orelse = self.block(statement.orelse, dict(scope))
                    ops.append(branch)
        return ops

    def tiles(self, node: ast.Tiles, scope: Scope, ops: list[Op]) -> Op:
        extent = self.scalar_or_index(node.extent, scope, ops)
        start = Number(0, type=INDEX) if node.start is None else self.scalar_or_index(node.start, scope, ops)
        stop = extent if node.stop is None else self.scalar_or_index(node.stop, scope, ops)
        inner = dict(scope)
        axis = self.axis(node.axis, extent, self.plain(node.step, scope), node.place, inner)
        hints = dict(node.hints)
        loop = Op("tiles", node.place, axis=axis, bounds=(start, stop), reverse=node.reverse, hints=hints)
        loop.body = self.block(node.body, inner)
        return loop

    def range(self, node: ast.Range, scope: Scope, ops: list[Op]) -> Op:
        start, stop, by = (self.scalar_or_index(e, scope, ops) for e in (node.start, node.stop, node.step))
        counter = self.value(node.variable, (), "i64")
        if isinstance(by, Number) and by.value > 0:
            self.counters[counter.name] = start, stop
        loop = Op("range", node.place, target=counter, bounds=(start, stop, by), hints=dict(node.hints))
        loop.body = self.block(node.body, dict(scope) | {node.variable: counter})
        return loop

    def assign(self, node: ast.Assign, scope: Scope, rest: Sequence[ast.Statement], ops: list[Op]) -> None:
        kind = node.value.type
        assert kind is not None
        slots = {target: self.slot(target, kind, scope, rest) for target in node.targets}
        made: dict[str, Value | Expr] = {}
        for target, expr in self.results(node, slots, scope, ops):
            slot = slots[target]
            if slot is None:
                made[target] = self.bind(target, expr, kind, node.place, scope, ops)
            else:
                ops.append(Op("map", node.place, target=slot, expr=expr))
        scope.update(made)
        scope.update({target: slot for target, slot in slots.items() if slot is not None})

    def slot(self, target: str, kind: Type, scope: Scope, rest: Sequence[ast.Statement]) -> Value | None:
        """The mutable value behind a name: the one that it has, or a new one when a later loop or branch assigns it."""
        known = scope.get(target)
        if isinstance(known, Value) and known.mutable:
            return known
        if not any(target in _assigned_inside(statement) for statement in rest):
            return None
        slot = self.value(target, self.axes(kind.axes, scope), kind.dtype)
        slot.mutable = True
        return slot

    def results(
        self, node: ast.Assign, slots: Mapping[str, Value | None], scope: Scope, ops: list[Op]
    ) -> Iterator[tuple[str, Expr]]:
        """Each target with its expression. A dot that adds to its own target does so in place and gives none."""
        call, (first, *_) = node.value, node.targets
        if not isinstance(call, Call):
            yield first, self.expression(call, scope, ops)
        elif call.op == "split":
            sizes = call.args[1].items if isinstance(call.args[1], ast.Group) else (call.args[1],)
            index = self.scalar_or_index(call.args[0], scope, ops)
            plain = tuple(self.scalar_or_index(size, scope, ops) for size in sizes)
            yield from zip(node.targets, map(fold, digits(index, plain)), strict=True)
        elif call.op == "split_float":
            yield from zip(node.targets, self.split_float(call, scope, ops), strict=True)
        else:
            slot, into = slots[first], dict(call.keywords).get("into")
            in_place = slot is not None and slot is scope.get(first) and into == Name(first)
            inside = self.product(call, scope, ops, slot) if slot is not None and in_place else None
            if inside is not None:
                ops.append(inside)
            else:
                yield first, self.expression(call, scope, ops, first)

    def bind(self, target: str, expr: Expr, kind: Type, place: Place, scope: Scope, ops: list[Op]) -> Value | Expr:
        """What an immutable name stands for: index arithmetic itself, a virtual value, or one that is kept."""
        if isinstance(expr, Name) and expr.id in self.body.values and not self.body.values[expr.id].mutable:
            return self.body.values[expr.id]
        mutable = any(value.mutable for value in self.body.values_of(expr))
        if not mutable and (kind.weak or (kind.dtype == "i64" and is_arithmetic(expr, self.body))):
            return expr
        axes = self.axes(kind.axes, scope)
        virtual = not mutable and axes and self.body.cost(expr) <= self.cheap
        kept = self.value(target, axes, kind.dtype, definition=expr if virtual else None)
        if not mutable:
            self.formulas[kept.name] = expr
        ops.append(Op("map", place, target=kept, expr=expr))  # dropped if the value stays virtual
        return kept

    def split_float(self, call: Call, scope: Scope, ops: list[Op]) -> tuple[Expr, Expr]:
        """The narrow part of a value, and the narrow part of what that leaves."""
        wide = self.expression(call.args[0], scope, ops)
        whole = self.named("wide", call, wide, scope, ops, wide.dtype)
        high = cast(whole, call.dtype)
        return high, cast(Binary("-", whole, cast(high, whole.dtype), type=whole.type), call.dtype)


def regions(statements: Sequence[ast.Statement]) -> Iterator[tuple[list[ast.Grid], list[ast.Statement]]]:
    """Each grid nest at the top with what a program of it runs, and what stands between grids, which runs once.

    What is computed before a grid is computed again in each program; effects are not repeated.
    """
    before: list[ast.Statement] = []
    since: list[ast.Statement] = []
    for statement in statements:
        if not isinstance(statement, ast.Grid):
            since.append(statement)
            continue
        if _has_effects(since):
            yield [], [*before, *since]
        before, since = [*before, *_pure(since)], []
        grids, body = _nest(statement)
        yield grids, [*before, *body]
    if _has_effects(since):
        yield [], [*before, *since]


def _note_depth(ops: Sequence[Op], depth: int) -> None:
    for op in ops:
        op.depth = depth
        _note_depth((*op.body, *op.orelse), depth + 1)


def _has_effects(statements: Sequence[ast.Statement]) -> bool:
    return any(isinstance(node, ast.Effect) for node in ast.walk(tuple(statements)))


def _pure(statements: Sequence[ast.Statement]) -> list[ast.Statement]:
    """The statements without their effects."""
    kept: list[ast.Statement] = []
    for statement in statements:
        if isinstance(statement, (ast.Tiles, ast.Range)):
            kept.append(replace(statement, body=tuple(_pure(statement.body))))
        elif isinstance(statement, ast.If):
            body, orelse = tuple(_pure(statement.body)), tuple(_pure(statement.orelse))
            kept.append(replace(statement, body=body, orelse=orelse))
        elif not isinstance(statement, ast.Effect):
            kept.append(statement)
    return kept


def _nest(grid: ast.Grid) -> tuple[list[ast.Grid], list[ast.Statement]]:
    """The grids that run as one parallel loop, and the body of a program.

    An inner grid joins when everything before it in the body only computes and nothing follows it.
    """
    *before, last = grid.body
    if isinstance(last, ast.Grid) and all(isinstance(s, (ast.Assign, ast.Whole)) for s in before):
        inner, body = _nest(last)
        return [grid, *inner], [*before, *body]
    return [grid], list(grid.body)


def _assigned_inside(statement: ast.Statement) -> set[str]:
    if isinstance(statement, (ast.Assign, ast.Effect, ast.Whole)):
        return set()
    return {target for node in ast.walk(statement) if isinstance(node, ast.Assign) for target in node.targets}
