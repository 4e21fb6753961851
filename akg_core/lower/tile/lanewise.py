"""Sums and extremes of a loop that are kept lane by lane, and folded once after the loop.

`total = total + reduce_sum(t, n)` in a loop over n costs a reduction across the program's threads each turn. In exact
arithmetic the same comes out when every lane of the tile has a total of its own and all are summed after the loop,
as long as each carried variable only ever becomes itself plus multiples of sums over n. That holds for sums that carry
what rounding lost, too: what the compensation adds is zero in exact arithmetic.

What an enclosing loop carries on is left alone: it would be folded in each of that loop's turns, while nothing is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from akg_core.dtypes import is_float
from akg_core.lower.ir import Body, Op, Value, inside
from akg_core.lower.substitute import replace_in
from akg_core.sketch import numerics
from akg_core.sketch.ast import Binary, Call, Expr, Name, Number, Text, Type, Unary, walk

Form = Mapping[Value, int]  # a linear form: how often each value counts
_EXTREMES = {"maximum": "reduce_max", "minimum": "reduce_min"}
_WIDE = 64  # results of a tile that are summed within threads, of which each has some of its own


def keep_lanewise(body: Body, most: int) -> None:
    """Have loops of a padded, masked body keep what they can lane by lane, in at most so many lanes at once."""
    for region in body.regions:
        region.ops = _block(body, region.ops, most, None)


def _block(body: Body, ops: Sequence[Op], most: int, begun: frozenset[Value] | None) -> list[Op]:
    """The ops of a block; `begun`: what was assigned before it in a turn of the loop around it, None without one."""
    made: list[Op] = []
    for op in ops:
        before: list[Op] = []
        after: list[Op] = []
        if op.kind == "tiles":
            before, after = _Loop(body, op, begun).apart(most)
        inner = begun if op.kind == "if" else frozenset[Value]()
        op.body, op.orelse = _block(body, op.body, most, inner), _block(body, op.orelse, most, inner)
        begun = begun | {op.target} if begun is not None and op.target else begun
        made += [*before, op, *after]
    return made


class _Loop:
    def __init__(self, body: Body, loop: Op, begun: frozenset[Value] | None) -> None:
        self.body, self.loop, self.axis = body, loop, loop.tiled
        assigned = [op.target for op in inside(loop.body) if op.kind == "map" and op.target]
        self.slots = [v for v in dict.fromkeys(assigned) if v.mutable and (begun is None or v in begun)]
        self.reductions = {
            op.target: op
            for op in loop.body
            if op.kind == "reduce" and op.target and op.over == (self.axis.name,) and self._varies(op)
        }

    def apart(self, most: int) -> tuple[list[Op], list[Op]]:
        """What starts the values of lanes before the loop, and what folds them after it; the loop is rewritten."""
        chosen = {slot: function for slot in self.slots if (function := self.extreme(slot))}
        sums = {slot for slot in self.slots if slot not in chosen and slot.dtype in ("f32", "f64")}
        forms: dict[Value, Form] = {}
        while sums:
            found = self.linear(sums)
            if isinstance(found, dict):
                forms = found
                break
            sums -= found
        chosen |= {slot: "reduce_sum" for slot in self.slots if slot in sums}
        count = sum(self.body.lanes_of(slot.axes | {self.axis.name}) for slot in chosen)
        wide = "stages" in self.loop.hints and all(self.body.lanes_of(slot.axes) >= _WIDE for slot in chosen)
        if self.axis.unit or wide or count > most or not chosen:
            return [], []
        return self.rewritten(chosen, forms)

    def rewritten(self, chosen: Mapping[Value, str], forms: Mapping[Value, Form]) -> tuple[list[Op], list[Op]]:
        before, after, renamed = [], [], dict[str, Value]()
        for slot, function in chosen.items():
            lanes = self.body.fresh(f"{slot.name}_lanes", slot.axes | {self.axis.name}, slot.dtype, mutable=True)
            renamed[slot.name] = lanes
            kind = Type(dtype=slot.dtype)
            none = Number(numerics.identity(function, slot.dtype), type=kind)
            before.append(Op("map", self.loop.place, target=lanes, expr=none))
            folded = self.body.fresh(f"{slot.name}_folded", slot.axes, slot.dtype)
            kept = Name(lanes.name, type=kind)
            over = (self.axis.name,)
            after.append(Op("reduce", self.loop.place, function, target=folded, expr=kept, over=over))
            pair = Name(slot.name, type=kind), Name(folded.name, type=kind)
            word = {"reduce_max": "maximum", "reduce_min": "minimum"}.get(function)
            both: Expr = Binary("+", *pair, type=kind) if word is None else Call(word, pair, type=kind)
            after.append(Op("map", self.loop.place, target=slot, expr=both))
        self.rename(renamed, {value for value in forms if value not in chosen})
        return before, after

    def rename(self, renamed: Mapping[str, Value], wider: Iterable[Value]) -> None:
        """Have the loop work on the values of lanes: `wider` ones get the loop's axis."""
        used = set(renamed) | {value.name for value in wider}
        replace_in(self.loop.body, {name: Name(value.name) for name, value in renamed.items()})
        for op in self.loop.body:
            if op.target is None:
                continue
            if op.kind == "reduce" and self._feeds(op, used, renamed):
                if op.operand.dtype != op.target.dtype:
                    op.expr = Call("cast", (op.operand, Text(op.target.dtype)), type=Type(dtype=op.target.dtype))
                op.kind, op.function, op.over = "map", "", ()
                op.target.axes |= {self.axis.name}
            elif op.target.name in renamed:
                op.target = renamed[op.target.name]
            elif op.target.name in used:
                op.target.axes |= {self.axis.name}

    def _feeds(self, op: Op, used: set[str], renamed: Mapping[str, Value]) -> bool:
        """Whether a reduction is read by nothing but what is kept lane by lane."""
        if op.result not in self.reductions:
            return False
        lanes = {value.name for value in renamed.values()}
        readers = [
            o for o in self.loop.body if any(Name(op.result.name) in walk(e) for e in o.expressions()) and o.target
        ]
        return bool(readers) and all(o.target and o.target.name in used | lanes | set(renamed) for o in readers)

    def _varies(self, op: Op) -> bool:
        return op.expr is not None and self.axis.name in self.body.axes_of(op.expr)

    # --- extremes ---

    def extreme(self, slot: Value) -> str:
        """The reduction that all a loop does with `slot` is to take an extreme with; "" where it does else."""
        named = [op for op in self.loop.body if self._names(op, slot)]
        if len(named) != 1 or named[0].kind != "map" or named[0].target is not slot:
            return ""
        call = named[0].expr
        if not isinstance(call, Call) or call.op not in _EXTREMES or not is_float(slot.dtype):
            return ""
        others = [a for a in call.args if a != Name(slot.name)]
        other = others[0] if len(others) == 1 else None
        value = self.body.values.get(other.id) if isinstance(other, Name) else None
        found = self.reductions.get(value) if value is not None else None
        alone = found is not None and value is not None and self._reads(value) == 1
        return found.function if alone and found is not None and found.function == _EXTREMES[call.op] else ""

    def _names(self, op: Op, value: Value) -> bool:
        inside = list(op.inside())
        return any(o.target is value or any(Name(value.name) in walk(e) for e in o.expressions()) for o in inside)

    def _reads(self, value: Value) -> int:
        return sum(self._names(op, value) and op.target is not value for op in self.loop.body)

    # --- sums ---

    def linear(self, sums: set[Value]) -> dict[Value, Form] | set[Value]:
        """The linear forms of what feeds `sums`, when all of them are linear; else those that are not."""
        forms: dict[Value, Form] = {slot: {slot: 1} for slot in sums}
        summed = {v for v, op in self.reductions.items() if op.function == "reduce_sum" and v.dtype in ("f32", "f64")}
        for op in self.loop.body:
            read = {v for each in op.inside() for e in each.expressions() for v in self.body.values_of(e)}
            used = read & forms.keys()
            if op.target in summed and not used:
                forms[op.result] = {op.result: 1}
                continue
            if not used and op.target not in sums:
                continue
            form = self.form(op.expr, forms) if op.kind == "map" and op.expr is not None else None
            if form is None or op.target is None:  # whatever flows into this is not linear
                culprits = {value for v in used for value in forms[v]} & sums
                return (culprits | ({op.target} & sums if op.target else set())) or set(sums)
            forms[op.target] = form
        wrong = {s for s in sums if forms[s].get(s) != 1 or any(v in sums and v is not s for v in forms[s])}
        return wrong or forms

    def form(self, expr: Expr, forms: Mapping[Value, Form]) -> Form | None:
        """`expr` as a linear form over carried values and sums; None when it is none."""
        if isinstance(expr, Name):
            value = self.body.values.get(expr.id)
            return forms.get(value) if value is not None else None
        if isinstance(expr, Unary) and expr.op == "-":
            inner = self.form(expr.operand, forms)
            return None if inner is None else {value: -count for value, count in inner.items()}
        if isinstance(expr, Binary) and expr.op in ("+", "-"):
            left, right = self.form(expr.left, forms), self.form(expr.right, forms)
            if left is None or right is None:
                return None
            sign = 1 if expr.op == "+" else -1
            total = {v: left.get(v, 0) + sign * right.get(v, 0) for v in {*left, *right}}
            return {value: count for value, count in total.items() if count}
        return None
