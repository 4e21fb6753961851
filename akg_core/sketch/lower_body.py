"""Statements of a kernel become pieces: names made unique, index arithmetic written out, dependencies noted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from akg_core.sketch import ast
from akg_core.sketch.ast import Binary, Call, Element, Expr, Name, Number, Place, Text, Type
from akg_core.sketch.dtypes import is_float
from akg_core.sketch.lower import Instance, fold
from akg_core.sketch.lower_access import place, step
from akg_core.sketch.lower_index import INDEX, Bounds, digits
from akg_core.sketch.lower_pieces import Axis, Body, Piece, Region, Value
from akg_core.sketch.ops import OPERATIONS

Scope = dict[str, "Value | Axis | Expr"]
PROGRAM = ("program", "member")  # where a program stands in the grid, for emitters that count programs
CHEAP = 6  # a definition of at most this cost is computed again rather than kept


def body_of(instance: Instance, reserved: frozenset[str] = frozenset()) -> Body:
    """The pieces of a checked, bound and specialised kernel. No name in them is in `reserved`."""
    return _Lowering(instance, reserved).run()


class _Lowering:
    def __init__(self, instance: Instance, reserved: frozenset[str]) -> None:
        self.kernel = instance.kernel
        self.tensors = {t.name: t for t in self.kernel.tensors}
        self.taken = set(reserved) | set(self.tensors) | set(instance.dimensions) | set(instance.open)
        self.extents: dict[str, Expr] = {}
        self.counters: dict[str, tuple[Expr, Expr]] = {}
        bounds = Bounds(self.extents, self.counters, frozenset({*instance.dimensions, *PROGRAM}))
        self.body = Body(self.kernel, [], {}, {}, bounds)

    def run(self) -> Body:
        for grids, statements in _regions(self.kernel.body):
            scope: Scope = {}
            for statement in statements:  # sizes of grids may be named before them
                if isinstance(statement, ast.Assign) and statement.value.type and statement.value.type.uniform:
                    for target in statement.targets:
                        scope[target] = self.plain(statement.value, scope)
            axes = tuple(self.grid_axis(grid, scope) for grid in grids)
            self.body.regions.append(Region(axes, self.block(statements, scope, ())))
        self.prune()
        for region in self.body.regions:
            for piece in region.pieces:
                self.depend(piece)
        return self.body

    # --- names, values, axes ----------------------------------------------------------------------------

    def unique(self, name: str) -> str:
        chosen, number = name, 2
        while chosen in self.taken:
            chosen, number = f"{name}_{number}", number + 1
        self.taken.add(chosen)
        return chosen

    def value(self, name: str, axes: Iterable[str], dtype: str, definition: Expr | None = None) -> Value:
        made = Value(self.unique(name), frozenset(axes), dtype, definition=definition)
        self.body.values[made.name] = made
        return made

    def axis(self, name: str, extent: Expr, step: Expr | None, place: Place, scope: Scope) -> Axis:
        """A new axis in `scope`. Its tile begins and ends at scalars of its own, unless it is whole or one position."""
        unique = self.unique(name)
        sizes = [int(e.value) for e in (extent, step) if isinstance(e, Number)]
        capacity = min(sizes) if step is None and sizes or isinstance(step, Number) else None
        begin: Expr = Number(0, type=INDEX)
        end = extent
        if step is not None and capacity == 1 and isinstance(step, Number) and step.value == 1:
            begin = Name(unique, type=INDEX)
            end = Binary("+", begin, Number(1, type=INDEX), type=INDEX)
        elif step is not None:
            begin, end = (self.name(self.value(f"{unique}_{at}", (), "i64")) for at in ("begin", "end"))
        made = Axis(unique, extent, begin, end, capacity, place, step=step)
        self.body.axes[unique] = made
        self.extents[unique] = extent
        scope[name] = made
        return made

    def grid_axis(self, grid: ast.Grid, scope: Scope) -> Axis:
        axis = self.axis(
            grid.axis, self.plain(grid.extent, scope), self.plain(grid.step, scope), grid.place, scope
        )
        axis.together = ("together", Number(True)) in grid.hints
        return axis

    def name(self, value: Value) -> Name:
        return Name(value.name, type=Type(value.axes, value.dtype))

    def axes(self, names: Iterable[str], scope: Scope) -> list[str]:
        """Unique names of the axes that the sketch calls `names`, units left out."""
        found = (scope[name] for name in names)
        return [axis.name for axis in found if isinstance(axis, Axis) and not axis.unit]

    def axes_of(self, expr: Expr, scope: Scope) -> list[str]:
        return self.axes(expr.type.axes if expr.type else (), scope)

    # --- statements -------------------------------------------------------------------------------------

    def block(self, statements: Sequence[ast.Statement], scope: Scope, after: Sequence[ast.Statement]) -> list[Piece]:
        """The pieces of one scope. What a nested loop or branch assigns again is kept in a mutable value."""
        pieces: list[Piece] = []
        for number, statement in enumerate(statements):
            match statement:
                case ast.Assign():
                    self.assign(statement, scope, statements[number + 1 :], pieces)
                case ast.Effect(call=call, place=place):
                    element = self.element(call.args[0], scope, pieces)
                    stored = self.expression(call.args[1], scope, pieces)
                    hints = dict(call.keywords)
                    pieces.append(Piece("store", place, call.op, expr=stored, element=element, hints=hints))
                case ast.Whole(axis=axis, extent=extent, place=place):
                    self.axis(axis, self.plain(extent, scope), None, place, scope)
                case ast.Grid():
                    inner = dict(scope)
                    axis_ = self.grid_axis(statement, inner)
                    zero = Number(0, type=INDEX)
                    loop = Piece("tiles", statement.place, axis=axis_, bounds=(zero, axis_.extent))
                    loop.body = self.block(statement.body, inner, ())
                    pieces.append(loop)
                case ast.Tiles():
                    pieces.append(self.tiles(statement, scope, pieces))
                case ast.Range():
                    pieces.append(self.range(statement, scope, pieces))
                case ast.If():
                    condition = self.scalar(statement.condition, scope, pieces)
                    branch = Piece("if", statement.place, expr=condition)
                    branch.body = self.block(statement.body, dict(scope), ())
                    branch.orelse = self.block(statement.orelse, dict(scope), ())
                    pieces.append(branch)
        return pieces

    def tiles(self, node: ast.Tiles, scope: Scope, pieces: list[Piece]) -> Piece:
        extent = self.scalar(node.extent, scope, pieces)
        start = Number(0, type=INDEX) if node.start is None else self.scalar(node.start, scope, pieces)
        stop = extent if node.stop is None else self.scalar(node.stop, scope, pieces)
        inner = dict(scope)
        axis = self.axis(node.axis, extent, self.plain(node.step, scope), node.place, inner)
        hints = dict(node.hints)
        loop = Piece("tiles", node.place, axis=axis, bounds=(start, stop), reverse=node.reverse, hints=hints)
        loop.body = self.block(node.body, inner, ())
        return loop

    def range(self, node: ast.Range, scope: Scope, pieces: list[Piece]) -> Piece:
        bounds = tuple(self.scalar(e, scope, pieces) for e in (node.start, node.stop, node.step))
        counter = self.value(node.variable, (), "i64")
        if isinstance(bounds[2], Number) and bounds[2].value > 0:
            self.counters[counter.name] = bounds[:2]
        loop = Piece("range", node.place, target=counter, bounds=bounds, hints=dict(node.hints))
        loop.body = self.block(node.body, dict(scope) | {node.variable: counter}, ())
        return loop

    def assign(
        self, node: ast.Assign, scope: Scope, rest: Sequence[ast.Statement], pieces: list[Piece]
    ) -> None:
        call = node.value
        if isinstance(call, Call) and call.op == "split":
            sizes = call.args[1].items if isinstance(call.args[1], ast.Group) else (call.args[1],)
            index = self.scalar_or_index(call.args[0], scope, pieces)
            plain = tuple(self.scalar(size, scope, pieces) for size in sizes)
            for target, digit in zip(node.targets, digits(index, plain)):
                scope[target] = fold(digit)
            return
        if isinstance(call, Call) and call.op == "split_float":
            self.split_float(node, call, scope, pieces)
            return
        for target in node.targets:
            self.set(target, node, scope, rest, pieces)

    def set(
        self, target: str, node: ast.Assign, scope: Scope, rest: Sequence[ast.Statement], pieces: list[Piece]
    ) -> None:
        known = scope.get(target)
        if isinstance(known, Value) and known.mutable:
            self.write(known, node, target, scope, pieces)
        elif any(target in _assigned_inside(statement) for statement in rest):
            assert node.value.type is not None
            slot = self.value(target, self.axes_of(node.value, scope), node.value.type.dtype)
            slot.mutable = True
            self.write(slot, node, "", scope, pieces)
            scope[target] = slot
        else:
            scope[target] = self.bind(target, self.expression(node.value, scope, pieces, target), node, scope, pieces)

    def write(self, slot: Value, node: ast.Assign, target: str, scope: Scope, pieces: list[Piece]) -> None:
        """Assign a mutable value; a dot that adds to this very value does so in place."""
        call = node.value
        if isinstance(call, Call) and call.op == "dot" and dict(call.keywords).get("into") == Name(target):
            piece = self.product(call, scope, pieces, slot)
            if piece is not None:
                pieces.append(piece)
                return
        expr = self.expression(call, scope, pieces, target)
        pieces.append(Piece("map", node.place, target=slot, expr=expr))

    def bind(self, target: str, expr: Expr, node: ast.Assign, scope: Scope, pieces: list[Piece]) -> Value | Expr:
        """What an immutable name stands for: index arithmetic itself, a virtual value, or one that is kept."""
        if isinstance(expr, Name) and expr.id in self.body.values and not self.body.values[expr.id].mutable:
            return self.body.values[expr.id]
        mutable = any(value.mutable for value in self.body.values_of(expr))
        assert node.value.type is not None
        kind = node.value.type
        if not mutable and (kind.weak or (kind.dtype == "i64" and _is_arithmetic(expr, self.body))):
            return expr
        axes = self.axes_of(node.value, scope)
        virtual = not mutable and axes and self.body.cost(expr) <= CHEAP
        kept = self.value(target, axes, kind.dtype, definition=expr if virtual else None)
        pieces.append(Piece("map", node.place, target=kept, expr=expr))  # dropped if the value stays virtual
        return kept

    def split_float(self, node: ast.Assign, call: Call, scope: Scope, pieces: list[Piece]) -> None:
        wide = self.expression(call.args[0], scope, pieces)
        narrow = call.type.dtype if call.type else ""
        axes = self.axes_of(call, scope)
        kept = self.value(f"{node.targets[0]}_of", axes, wide.type.dtype if wide.type else "f32")
        pieces.append(Piece("map", node.place, target=kept, expr=wide))
        whole = self.name(kept)
        high = _cast(whole, narrow)
        low = _cast(Binary("-", whole, _cast(high, kept.dtype), type=whole.type), narrow)
        for target, expr in zip(node.targets, (high, low)):
            value = self.value(target, axes, narrow)
            pieces.append(Piece("map", node.place, target=value, expr=expr))
            scope[target] = value

    # --- expressions ------------------------------------------------------------------------------------

    def scalar(self, expr: Expr, scope: Scope, pieces: list[Piece]) -> Expr:
        """A scalar for a bound or a condition: arithmetic as it is, anything else computed first."""
        return self.scalar_or_index(expr, scope, pieces)

    def scalar_or_index(self, expr: Expr, scope: Scope, pieces: list[Piece]) -> Expr:
        lowered = self.expression(expr, scope, pieces)
        if _is_arithmetic(lowered, self.body) and not any(v.mutable for v in self.body.values_of(lowered)):
            return lowered
        assert expr.type is not None
        kept = self.value("s" if not expr.type.axes else "at", self.axes_of(expr, scope), expr.type.dtype)
        pieces.append(Piece("map", expr.place, target=kept, expr=lowered))
        return self.name(kept)

    def plain(self, expr: Expr, scope: Scope) -> Expr:
        """An expression known at launch."""
        pieces: list[Piece] = []
        lowered = self.expression(expr, scope, pieces)
        assert not pieces, "a size known at launch needs no pieces"
        return lowered

    def expression(self, expr: Expr, scope: Scope, pieces: list[Piece], hint: str = "") -> Expr:
        """`expr` over unique names; what must see a whole axis first goes to `pieces`, named after `hint`."""
        match expr:
            case Name(id=id):
                found = scope.get(id)
                if found is None:
                    return expr
                if isinstance(found, Axis):
                    return Name(found.name, place=expr.place, type=expr.type)
                return replace(self.name(found), place=expr.place) if isinstance(found, Value) else found
            case ast.Unary(operand=operand):
                return fold(replace(expr, operand=self.expression(operand, scope, pieces)))
            case Binary(left=left, right=right):
                left, right = (self.expression(e, scope, pieces) for e in (left, right))
                return fold(replace(expr, left=left, right=right))
            case Call(op=op):
                return self.call(expr, OPERATIONS[op].kind, scope, pieces, hint)
        return expr

    def call(self, call: Call, kind: str, scope: Scope, pieces: list[Piece], hint: str) -> Expr:
        assert call.type is not None
        if kind == "load":
            return self.load(call, scope, pieces)
        if kind == "create":
            return _cast(self.expression(call.args[1], scope, pieces) if call.op == "full" else _zero(call), call.type.dtype)
        if kind == "axis":
            axis = scope[call.args[0].id]  # type: ignore[attr-defined]
            assert isinstance(axis, Axis)
            ends = {"begin": axis.begin, "end": axis.end}
            return ends.get(call.op) or fold(Binary("-", axis.end, axis.begin, type=INDEX))
        if kind in ("reduce", "argreduce", "pick", "scan", "meet"):
            return self.along(call, kind, scope, pieces, hint)
        if kind == "contract":
            return self.contract(call, scope, pieces, hint)
        arguments = tuple(a if isinstance(a, Text) else self.expression(a, scope, pieces) for a in call.args)
        return fold(replace(call, args=arguments))

    def element(self, node: Expr, scope: Scope, pieces: list[Piece]) -> Element:
        assert isinstance(node, Element)
        indices = []
        for index in node.indices:
            lowered = self.expression(index, scope, pieces)
            indices.append(lowered)
        return replace(node, indices=tuple(indices))

    def load(self, call: Call, scope: Scope, pieces: list[Piece]) -> Expr:
        element = self.element(call.args[0], scope, pieces)
        keywords = tuple((k, self.expression(v, scope, pieces)) for k, v in call.keywords)
        loaded = replace(call, args=(element,), keywords=keywords)
        if self.tensors[element.tensor].role == "In":
            return loaded
        # What may be written meanwhile is read once, where the sketch reads it.
        assert call.type is not None
        kept = self.value(f"{element.tensor}_at", self.axes_of(call, scope), call.type.dtype)
        pieces.append(Piece("map", call.place, target=kept, expr=loaded))
        return self.name(kept)

    def along(self, call: Call, kind: str, scope: Scope, pieces: list[Piece], hint: str) -> Expr:
        """Reductions, scans and meets: a piece each; over axes of one position they are what they reduce."""
        assert call.type is not None
        operand = self.expression(call.args[0], scope, pieces)
        axes = _names(call.args[1])
        over = self.axes(axes, scope)
        if kind == "meet":
            axis = scope[axes[0]]
            assert isinstance(axis, Axis)
            over = [axis.name]
        elif not over:
            if kind == "argreduce":
                axis = scope[axes[0]]
                assert isinstance(axis, Axis)
                return Name(axis.name, type=replace(call.type, axes=frozenset()))
            return _cast(operand, call.type.dtype)
        result = self.axes_of(call, scope)
        target = self.value(hint or call.op.removeprefix("reduce_"), result, call.type.dtype)
        reverse = dict(call.keywords).get("reverse") == Number(True)
        name, op = {"argreduce": "reduce", "pick": "reduce"}.get(kind, kind), call.op
        if kind == "meet":
            pieces.append(Piece("map", call.place, target=target, expr=operand))
            operand = self.name(target)
        elif operand.type is not None and operand.type.dtype == "bool" and op in ("reduce_max", "reduce_min"):
            op = "reduce_any" if op == "reduce_max" else "reduce_all"
        pieces.append(Piece(name, call.place, op, target=target, expr=operand, over=tuple(over), reverse=reverse))
        return self.name(target)

    def contract(self, call: Call, scope: Scope, pieces: list[Piece], hint: str) -> Expr:
        """A dot outside `x = dot(…, into=x)`: the product, and `into` added to it."""
        assert call.type is not None
        into = dict(call.keywords).get("into")
        dtype = call.type.dtype if into is None or is_float(call.type.dtype) == is_float(into.type.dtype) else "f32"  # type: ignore[union-attr]
        target = self.value(hint or "product", self.axes_of(call, scope), dtype)
        piece = self.product(call, scope, pieces, target)
        if piece is None:
            product = self.matrix_vector(call, scope, pieces, target)
        else:
            pieces.append(piece)
            product = self.name(target)
        if into is None:
            return product
        return Binary("+", self.expression(into, scope, pieces), product, place=call.place, type=call.type)

    def product(self, call: Call, scope: Scope, pieces: list[Piece], target: Value) -> Piece | None:
        """A dot piece for `target`; None when one side has no axis of its own, which a plain reduction does better."""
        assert call.type is not None
        over = self.axes(_names(dict(call.keywords)["over"]), scope)
        a_axes, b_axes = (set(self.axes_of(a, scope)) for a in call.args[:2])
        if not over or not a_axes - b_axes or not b_axes - a_axes or not set(over) <= a_axes & b_axes:
            return None
        if target.dtype not in ("f32", "f64", "i32", "i64"):
            return None
        a, b = (self.operand(a, scope, pieces) for a in call.args[:2])
        hints = {k: v for k, v in call.keywords if k != "into"}
        return Piece(
            "dot", call.place, "dot", target, a, b, tuple(over), accumulate=target.mutable, hints=hints
        )

    def operand(self, expr: Expr, scope: Scope, pieces: list[Piece]) -> Expr:
        """An operand of a matrix product: a plain load stays one, anything else is computed into a tile."""
        lowered = self.expression(expr, scope, pieces)
        inner, held = lowered, None
        while isinstance(inner, Name) and inner.id in self.body.values and self.body.values[inner.id].definition:
            held = self.body.values[inner.id]
            assert held.definition is not None
            inner = held.definition
        if isinstance(inner, Call) and inner.op == "load":
            element = inner.args[0]
            assert isinstance(element, Element)
            sizes = self.tensors[element.tensor].dims
            where, axes = place(element.indices, sizes), self.body.axes_of(element)
            proved = all(map(self.body.bounds.within, element.indices, sizes))
            if proved and all(step(self.body, where, axis) is not None for axis in axes):
                return inner
        if isinstance(inner, Name) and inner.id in self.body.values:
            return inner
        if held is not None:
            held.definition = None  # computed once where the sketch assigns it
            return self.name(held)
        assert expr.type is not None
        kept = self.value("operand", self.axes_of(expr, scope), expr.type.dtype)
        pieces.append(Piece("map", expr.place, target=kept, expr=lowered))
        return self.name(kept)

    def matrix_vector(self, call: Call, scope: Scope, pieces: list[Piece], target: Value) -> Expr:
        over = self.axes(_names(dict(call.keywords)["over"]), scope)
        a, b = (_cast(self.expression(e, scope, pieces), target.dtype) for e in call.args[:2])
        product = Binary("*", a, b, place=call.place, type=Type(dtype=target.dtype))
        if not over:
            return product
        pieces.append(Piece("reduce", call.place, "reduce_sum", target=target, expr=product, over=tuple(over)))
        return self.name(target)

    # --- dependencies -----------------------------------------------------------------------------------

    def prune(self) -> None:
        """Drop pieces whose result nobody reads."""
        while True:
            pieces = [p for region in self.body.regions for piece in region.pieces for p in piece.inside()]
            read = {v for p in pieces for e in p.expressions() for v in self.body.values_of(e)}
            read |= {p.target for p in pieces if p.kind == "range" and p.target}
            unread = {p for p in pieces if p.target is not None and p.kind != "range" and p.target not in read}
            unread |= {p for p in pieces if p.kind == "map" and p.target is not None and p.target.definition is not None}
            unread |= {p for p in pieces if p.compound and not p.body and not p.orelse}
            if not unread:
                return
            for region in self.body.regions:
                region.pieces = _without(region.pieces, unread)

    def depend(self, piece: Piece) -> None:
        """Note what a piece reads, writes and iterates over, from the inside out."""
        reads: set[Value] = set()
        loaded: set[str] = set()
        axes: set[str] = set()
        for expr in piece.expressions():
            reads |= set(self.body.values_of(expr))
            loaded |= {c.args[0].tensor for c in self.body.loads_of(expr)}  # type: ignore[attr-defined]
            axes |= self.body.axes_of(expr)
        writes = {piece.target} if piece.target is not None else set()
        for inner in (*piece.body, *piece.orelse):
            self.depend(inner)
            reads |= inner.reads
            writes |= inner.writes
            loaded |= inner.loaded
        if piece.target is not None:
            axes |= piece.target.axes
            if piece.accumulate:
                reads.add(piece.target)
        if piece.kind == "meet":
            piece.blocked = frozenset(axes)
        else:
            axes |= set(piece.over)
        if piece.kind == "dot":
            piece.blocked = self.blocked(piece)
        stored = {piece.element.tensor} if piece.element is not None else set()
        piece.reads, piece.writes = frozenset(reads), frozenset(writes)
        piece.loaded = frozenset(t for t in loaded if self.tensors[t].role != "In")
        piece.stored = frozenset(stored.union(*(p.stored for p in (*piece.body, *piece.orelse))))
        piece.iterates = frozenset(axes) if not piece.compound else frozenset()

    def blocked(self, piece: Piece) -> frozenset[str]:
        """The axes that the matrix product itself runs over: the longest of its rows, of its columns, and all of `over`."""
        a, b = (self.body.axes_of(e) for e in (piece.expr, piece.other) if e is not None)
        longest = lambda axes: max(sorted(axes), key=lambda n: self.body.axes[n].capacity or 1 << 40)  # noqa: E731
        return frozenset({longest(a - b), longest(b - a), *piece.over})


def _regions(statements: Sequence[ast.Statement]) -> Iterator[tuple[list[ast.Grid], list[ast.Statement]]]:
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


def _is_arithmetic(expr: Expr, body: Body) -> bool:
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


def _cast(expr: Expr, dtype: str) -> Expr:
    if expr.type is not None and expr.type.dtype == dtype and not expr.type.weak:
        return expr
    axes = expr.type.axes if expr.type else frozenset()
    return Call("cast", (expr, Text(dtype)), place=expr.place, type=Type(axes, dtype))


def _zero(call: Call) -> Number:
    return Number(0, place=call.place, type=Type(dtype="i64", uniform=True, weak=True))


def _without(pieces: list[Piece], dropped: set[Piece]) -> list[Piece]:
    kept = [p for p in pieces if p not in dropped]
    for piece in kept:
        piece.body, piece.orelse = _without(piece.body, dropped), _without(piece.orelse, dropped)
    return kept
