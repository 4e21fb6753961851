"""Tiles become numbers: where each begins, its positions, which of its lanes exist, and loops that count.

The last pass before text. A grid becomes arithmetic on the number of a program, a loop over tiles one over a counter
(`range`), and every axis that is at hand has its positions under its own name. What nobody asks for is left out.

program(), programs()   the number of this program, and how many there are
cdiv(a, b)              a / b rounded up
swizzled_row(i, j, rows, columns, group), swizzled_column   of place (i, j) where programs walk `group` rows together
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from akg_core.lower.dependences import without
from akg_core.lower.fold import fold
from akg_core.lower.ir import Axis, Body, Op, Region, Value
from akg_core.lower.tile.masks import EXISTS
from akg_core.lower.tile.programs import ONE, ZERO, Programs, programs_of
from akg_core.sketch.affine import INDEX
from akg_core.sketch.ast import Binary, Call, Expr, Name, Number, Place, Type, Unary, walk

FARTHEST = Number(2**31 - 1, type=INDEX)
_BOOL = Type(dtype="bool")


def lower_to_indices(body: Body, region: Region, rows: int = 0, persistent: bool = False) -> Programs:
    """Open all tiles of a region of a masked body. `rows`: of the grid that programs walk together, where the sketch
    does not say; `persistent`: a program takes one place after the other, whatever the sketch says."""
    opening = _Opening(body, region, rows, persistent)
    opening.run()
    return opening.found


class _Opening:
    def __init__(self, body: Body, region: Region, rows: int, persistent: bool) -> None:
        self.body, self.region = body, region
        self.found = programs_of(body, region.grid, rows, persistent)
        self.optional: set[Op] = set()  # ops that are dropped where nobody reads their target

    def run(self) -> None:
        region, exists = self.region, dict[str, Expr]()
        inside = {name for op in self.body.ops() if op.kind == "regroup" for name in op.over[2:]}
        ops: list[Op] = []
        for axis in self.body.axes.values():
            if axis.step is None and axis not in region.grid and axis.name not in inside:
                ops += self.positions(axis, ZERO, None, None, exists)
        before = self.found.before
        self.optional |= {op for each in before for op in each.inside() if op.kind == "map"}
        placed = zip(region.grid, self.found.places, strict=True)
        body = [op for axis, at in placed for op in self.begun(axis, at, exists)]
        body += self.block(region.ops, exists)
        if self.found.persistent:
            before[-1].body += body
            body = []
        region.ops = [*ops, *before, *body]
        self.prune()

    def prune(self) -> None:
        """Drop what was made in case that somebody asks for it, and nobody does."""
        while True:
            every = list(self.region.inside())
            used = {n.id for op in every for e in op.expressions() for n in walk(e) if isinstance(n, Name)}
            if any(op.kind in ("all_reduce", "barrier") for op in every):
                used |= {name.id for name in (self.found.member, self.found.group) if name is not None}
            unused = {op for op in every if op in self.optional and op.target and op.target.name not in used}
            if not unused:
                return
            self.region.ops = without(self.region.ops, unused)

    # --- one axis ---

    def value(self, name: str, axes: tuple[str, ...] = (), dtype: str = "i64", *, own: bool = False) -> Value:
        """A value; `own`: one that the IR already names so."""
        if own:
            known = self.body.values.get(name)
            self.body.values[name] = known or Value(name, frozenset(axes), dtype)
            return self.body.values[name]
        return self.body.fresh(name, axes, dtype)

    def assign(self, target: Value, expr: Expr, place: Place, kind: str = "map", axis: Axis | None = None) -> Op:
        op = Op(kind, place, target=target, expr=expr, axis=axis)
        self.optional.add(op)
        return op

    def positions(
        self, axis: Axis, begin: Expr, first: Expr | None, stop: Expr | None, exists: dict[str, Expr]
    ) -> list[Op]:
        """An axis whose tile begins at `begin`. `first`: the least of its positions that exists, where that may lie
        after `begin`; `stop`: what they end before, where that is not the extent."""
        self.found.opened.append(axis)
        step, made = axis.step or axis.extent, list[Op]()
        at = Name(axis.name, type=INDEX)
        if at != (first or begin):
            axes = () if axis.unit else (axis.name,)
            target = self.value(axis.name, axes, own=True)
            kind = "map" if axis.unit else "positions"
            made.append(self.assign(target, (first or begin) if axis.unit else begin, axis.place, kind, axis))
        known = [e.value for e in (axis.extent, step) if isinstance(e, Number)]
        even = len(known) == 2 and bool(known[1]) and known[0] % known[1] == 0
        limit = stop or axis.extent
        if axis.step is not None and isinstance(axis.end, Name):
            end = self.assign(self.value(axis.end.id, own=True), begin, axis.place, "end", axis)
            end.other = None if stop is None and even else limit
            made.append(end)
        full = isinstance(step, Number) and axis.lanes == min(known)
        once = len(known) == 2 and known[0] <= known[1]
        last = limit if full or once or step == axis.extent else axis.end
        condition: Expr = Binary("<", at, last, type=_BOOL)
        if first is not None:
            condition = Binary("and", condition, Binary(">=", at, first, type=_BOOL), type=_BOOL)
        lanes = self.value(f"{axis.name}_in", () if axis.unit else (axis.name,), "bool")
        made.append(self.assign(lanes, condition, axis.place))
        exists[axis.name] = Name(lanes.name, type=_BOOL)
        return made

    def begun(self, axis: Axis, place: Expr, exists: dict[str, Expr]) -> list[Op]:
        """The tile of a grid axis, by the number of the program's place along it."""
        if place == ZERO:
            made = []
            if isinstance(axis.begin, Name) and axis.begin.id != axis.name:
                made = [self.assign(self.value(axis.begin.id, own=True), ZERO, axis.place)]
            return [*made, *self.positions(axis, ZERO, None, None, exists)]
        name = axis.begin.id if isinstance(axis.begin, Name) else self.body.unique(f"{axis.name}_begin")
        begin = self.value(name, own=True)
        op = Op("begin", axis.place, target=begin, expr=place, axis=axis)
        return [op, *self.positions(axis, Name(name, type=INDEX), None, None, exists)]

    # --- blocks ---

    def block(self, ops: Sequence[Op], exists: Mapping[str, Expr]) -> list[Op]:
        made: list[Op] = []
        exists = dict(exists)
        for op in ops:
            if op.kind == "regroup":
                for name in op.over[2:]:
                    axis = self.body.axes[name]
                    made += self.positions(axis, axis.begin, None, None, exists)
            _replace_exists(op, exists)
            if op.kind == "reduce" and op.function in ("argmax", "argmin", "first", "last"):
                op.other = self.chosen(op, exists)
            if op.kind == "tiles":
                made += self.loop(op, exists)
                continue
            op.body, op.orelse = self.block(op.body, exists), self.block(op.orelse, exists)
            made.append(op)
        return made

    def chosen(self, op: Op, exists: Mapping[str, Expr]) -> Expr:
        """The positions among which a reduction finds a place, or whether a lane is the one that it picks."""
        axis = self.body.axes[op.over[0]]
        at = Name(axis.name, type=INDEX)
        if op.finds_place:  # lanes that do not exist come last among equals
            return Call("where", (exists[axis.name], at, FARTHEST), type=INDEX) if axis.partial else at
        wanted = axis.begin if op.function == "first" else fold(Binary("-", axis.end, ONE, type=INDEX))
        return Binary("==", at, wanted, type=_BOOL)

    def loop(self, op: Op, around: Mapping[str, Expr]) -> list[Op]:
        """A loop over tiles as one that counts to where each begins."""
        axis, (start, stop), bounds = op.tiled, op.bounds, self.body.bounds
        by, made, exists = axis.tile_size, list[Op](), dict(around)
        if stop != axis.extent and not bounds.at_most(stop, axis.extent):
            stop = Call("minimum", (stop, axis.extent), type=INDEX)
        least, low = start, bounds.interval(start)[0]
        negative = low is None or low < 0
        name = axis.begin.id if isinstance(axis.begin, Name) else self.body.unique(f"{axis.name}_at")
        if negative:  # tiles that end before position 0 have no positions
            start = self.named(f"{axis.name}_start", start, op, made)
            before = Call("maximum", (Unary("-", start, type=INDEX), ZERO), type=INDEX)
            skipped = Binary("*", Binary("//", before, by, type=INDEX), by, type=INDEX)
            least = self.named(f"{axis.name}_first", Binary("+", start, skipped, type=INDEX), op, made)
            name = self.body.unique(f"{axis.name}_at")
        begin: Expr = Name(name, type=INDEX)
        target = self.value(name, own=True)
        inside: list[Op] = []
        if op.reverse:
            distance = stop if least == ZERO else Binary("-", stop, least, type=INDEX)
            turns = self.named(f"{axis.name}_turns", Call("cdiv", (distance, by), type=INDEX), op, made)
            counter = self.body.fresh(f"{axis.name}_turn", (), "i64")
            bounds.counters[counter.name] = (ZERO, axis.extent)
            last = Binary("-", turns, ONE, type=INDEX)
            left = Binary("-", last, Name(counter.name, type=INDEX), type=INDEX)
            ahead: Expr = fold(Binary("*", left, by, type=INDEX))
            there = ahead if least == ZERO else Binary("+", least, ahead, type=INDEX)
            inside.append(Op("map", op.place, target=target, expr=there))
            op.target, op.bounds = counter, (ZERO, turns, ONE)
        else:
            op.target, op.bounds = target, (least, stop, by)
        first: Expr | None = None
        if negative:
            kept = axis.begin if isinstance(axis.begin, Name) else Name(self.body.unique(f"{axis.name}_least"))
            own = self.value(kept.id, own=True)
            inside.append(Op("map", op.place, target=own, expr=Call("maximum", (begin, ZERO), type=INDEX)))
            first = replace(kept, type=INDEX)
        plain = stop == axis.extent and isinstance(axis.extent, Number)
        inside += self.positions(axis, begin, first, None if plain else stop, exists)
        op.kind, op.body = "range", [*inside, *self.block(op.body, exists)]
        return [*made, op]

    def named(self, name: str, expr: Expr, op: Op, made: list[Op]) -> Expr:
        """The expression under a name of its own."""
        if isinstance(expr, (Name, Number)):
            return expr
        value = self.body.fresh(name, (), "i64")
        self.body.bounds.formulas[value.name] = expr
        made.append(Op("map", op.place, target=value, expr=expr))
        return Name(value.name, type=INDEX)


def _replace_exists(op: Op, exists: Mapping[str, Expr]) -> None:
    def change(node: Any) -> Any:
        named = isinstance(node, Call) and node.op == EXISTS and isinstance(node.args[0], Name)
        return exists[node.args[0].id] if named else node

    op.rewrite(change)
