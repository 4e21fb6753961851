"""Reductions, scans and picks: tiles along an axis become one value, or a running one, over the lanes that exist."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from akg_core.plugin.sketch import AxisList, Call, Expr, Group, Name, Number, as_sum, is_float
from akg_triton.emit.bulk import BulkWriter
from akg_triton.emit.expression import literal
from akg_triton.emit.memory import identity
from akg_triton.emit.terms import ATOM, LOOSE, Axis, Scope, Term
from akg_triton.signature import TRITON

WIDE = {"f16": "f32", "bf16": "f32"}  # what adds up


class AlongWriter(BulkWriter):
    """Adds what must see a whole axis. `unfolded`: reductions that are left to the end of a loop."""

    unfolded: frozenset[int] = frozenset()

    def over(self, node: Expr, scope: Scope) -> list[Axis]:
        """The axes that an argument names, units left out."""
        return [scope.axes[name] for name in named_axes(node) if not scope.axes[name].unit]

    def existing(self, term: Term, axes: Sequence[Axis], neutral: str) -> Term:
        """The term with `neutral` in lanes of `axes` that do not exist."""
        partial = [axis for axis in axes if axis.partial]
        if not partial or (term.fill is not None and literal(term.fill, term.dtype) == neutral):
            return term
        masks = [Term(axis.mask(), "bool", (axis.name,)) for axis in partial]
        fitted, _ = self.fitted([*masks, term])
        *held, tile = fitted
        condition = " & ".join(m.operand for m in held)
        return replace(
            tile, text=f"tl.where({condition}, {tile}, {neutral})", rank=ATOM, fill=None, expr=None, loaded=""
        )

    def spread(self, term: Term, axes: Sequence[Axis]) -> Term:
        """The term with every one of `axes` among its own."""
        missing = [axis for axis in axes if axis.name not in term.axes]
        if not missing:
            return term
        every = self.ordered([*term.axes, *(axis.name for axis in missing)])
        shape = ", ".join(str(self.axes[name].block) for name in every)
        if not term.axes:
            return replace(term, text=f"tl.full([{shape}], {term}, {TRITON[term.dtype]})", axes=every, rank=ATOM)
        text = f"tl.broadcast_to({self.aligned(term, every)}, [{shape}])"
        return replace(term, text=text, axes=every, rank=ATOM, expr=None)

    def reduce(self, call: Call, scope: Scope, dtype: str) -> Term:
        tile = self.strong(self.term(call.args[0], scope))
        return self.reduced(call, tile, self.over(call.args[1], scope), dtype)

    def reduced(self, call: Call, tile: Term, axes: Sequence[Axis], dtype: str) -> Term:
        """What a reduction makes of its tile along `axes`."""
        op = call.op.removeprefix("reduce_")
        if not axes:
            return self.convert(tile, dtype)
        if tile.dtype == "bool" and op in ("max", "min"):
            op = {"max": "any", "min": "all"}[op]
        held = self.held(tile.dtype, op)
        if op in ("any", "all"):
            bits = replace(self.cast(self.convert(tile, "bool"), "tl.int32"), dtype="i32", fill=None, expr=None)
            text = self.folded(
                "max" if op == "any" else "min", self.existing(self.spread(bits, axes), axes, identity(op, "i32")), axes
            )
            return replace(text, text=f"{text} != 0", rank=LOOSE, dtype="bool")
        tile = self.existing(self.spread(self.convert(self.wide(tile), held), axes), axes, identity(op, held))
        if id(call) in self.unfolded:
            return self.convert(tile, dtype)
        return self.convert(self.folded(op, tile, axes), dtype)

    def held(self, dtype: str, op: str) -> str:
        """The dtype in which values are combined."""
        if op in ("sum", "prod"):
            return WIDE.get(dtype, as_sum(dtype))
        return {"bf16": "f32", "bool": "i32"}.get(dtype, dtype)

    def folded(self, op: str, tile: Term, axes: Sequence[Axis]) -> Term:
        """The tile reduced over `axes`, last dimension first."""
        text, left = tile.text, list(tile.axes)
        places = sorted((left.index(axis.name) for axis in axes), reverse=True)
        if len(places) == len(left) and op == "sum":
            return replace(tile, text=f"tl.sum({text})", axes=(), rank=ATOM, fill=None, expr=None)
        for place in places:
            if op == "sum":
                text = f"tl.sum({text}, axis={place})"
            else:
                names = {"max": "maximum", "min": "minimum", "prod": "multiply"}
                if not is_float(tile.dtype):
                    names |= {"max": "larger", "min": "smaller"}
                text = f"tl.reduce({text}, {place}, {names[op]})"
            left.pop(place)
        return replace(tile, text=text, axes=tuple(left), rank=ATOM, fill=None, expr=None)

    def strong(self, term: Term) -> Term:
        """A number of the host as a scalar of its dtype."""
        return self.created(term, term.dtype) if term.weak else term

    def argreduce(self, call: Call, scope: Scope, dtype: str) -> Term:
        axis = self.axis(call.args[1], scope)
        position = axis.positions()
        if axis.unit:
            return replace(position, weak=False)
        tile = self.spread(self.strong(self.term(call.args[0], scope)), [axis])
        tile = self.convert(tile, self.held(tile.dtype, "max"))
        op = call.op.removeprefix("arg")
        tile = self.existing(tile, [axis], identity(op, tile.dtype))
        place = tile.axes.index(axis.name)
        if axis.partial:  # lanes that do not exist come last among equals
            last = f"tl.where({axis.mask()}, {position}, {2**31 - 1})"
            position = replace(position, text=last, rank=ATOM)
        shape = ", ".join(str(self.axes[name].block) for name in tile.axes)
        at = f"tl.broadcast_to({self.aligned(position, tile.axes)}, [{shape}])"
        rest = tuple(name for name in tile.axes if name != axis.name)
        text = f"tl.reduce(({tile}, {at}), {place}, {call.op})[1]"
        return Term(text, "i64", rest, narrow=position.narrow)

    def scan(self, call: Call, scope: Scope, dtype: str) -> Term:
        op = call.op.removeprefix("scan_")
        reverse = dict(call.keywords).get("reverse") == Number(True)
        axes = self.over(call.args[1], scope)
        tile = self.strong(self.term(call.args[0], scope))
        if not axes:
            return self.convert(tile, dtype)
        held = self.held(tile.dtype, op)
        tile = self.spread(self.convert(self.wide(tile), held), axes)
        if reverse:  # what comes first in a scan must not be a lane that does not exist
            tile = self.existing(tile, axes, identity(op, held))
        place, way = tile.axes.index(axes[0].name), ", reverse=True" if reverse else ""
        if op in ("sum", "prod"):
            text = f"tl.cum{op}({tile}, axis={place}{way})"
        else:
            names = {"max": "maximum", "min": "minimum"} if is_float(held) else {"max": "larger", "min": "smaller"}
            text = f"tl.associative_scan({tile}, {place}, {names[op]}{way})"
        return self.convert(replace(tile, text=text, rank=ATOM, fill=None, expr=None), dtype)

    def pick(self, call: Call, scope: Scope, dtype: str) -> Term:
        """The value at one position: the only lane that is not made zero before a sum."""
        axis = self.axis(call.args[1], scope)
        tile = self.strong(self.term(call.args[0], scope))
        if axis.unit or axis.name not in tile.axes:
            return tile
        end = axis.end()
        wanted = axis.begin if call.op == "first" else self.whole("-", [end, _one()], "i64")
        held = {"bool": "i32", "i8": "i32", "i16": "i32", "u8": "i32", "bf16": "f32"}.get(tile.dtype, tile.dtype)
        chosen = Term(f"{axis.positions().operand} == {wanted.operand}", "bool", (axis.name,), LOOSE)
        (here, value), _ = self.fitted([chosen, self.convert(self.wide(tile), held)])
        kept = replace(value, text=f"tl.where({here}, {value}, {literal(0, held)})", rank=ATOM)
        return self.convert(self.folded("sum", kept, [axis]), dtype)


def _one() -> Term:
    return Term("1", "i64", weak=True, narrow=True, expr=Number(1))


def named_axes(node: Expr) -> list[str]:
    """The axes that an argument names, as the sketch calls them."""
    if isinstance(node, Group):
        return [n.id for n in node.items if isinstance(n, Name)]
    return list(node.axes) if isinstance(node, AxisList) else [node.id] if isinstance(node, Name) else []
