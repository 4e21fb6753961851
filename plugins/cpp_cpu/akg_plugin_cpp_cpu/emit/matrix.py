"""What takes whole tiles as C++: one call of the packed micro-kernel for a product, one of `sort` a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from akg_core.plugin.lower import Op, dtype_of, element_of, place, reach_of, step
from akg_core.plugin.sketch import Call, Expr, Name, Polynomial, polynomial
from akg_plugin_cpp_cpu.emit.epilogue import matrix_axes
from akg_plugin_cpp_cpu.emit.memory import MemoryPrinter, plus
from akg_plugin_cpp_cpu.emit.scope import Scope, Term

Follow = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Operand:
    """Where an operand starts and how it steps along the two axes of the product."""

    source: str
    row: str
    column: str


class MatrixPrinter:
    """Prints products and sorts. Axes of a contraction beyond the longest are loops around the product."""

    def __init__(self, memory: MemoryPrinter) -> None:
        self.body, self.memory, self.terms = memory.body, memory, memory.terms
        self.emit = self.terms.emit

    def dots(self, ops: list[Op], scope: Scope, started: str = "", follow: Follow | None = None) -> bool:
        """Products of one left operand, one after the other.

        `started`: a condition under which there is something to add to, "" for the ops' own. `follow`: what prints the
        rest of the call where one is all, which follows each block of sums. Returns whether it did.
        """
        op = ops[0]
        rows, columns = matrix_axes(self.body, op)
        *outer, inner = sorted(op.over, key=lambda a: (self.body.axes[a].capacity or 1 << 40, a))
        accumulate = started or ("true" if op.accumulate else "false")
        if outer and not op.accumulate:
            accumulate = self.terms.fresh("started")
            self.emit(f"bool {accumulate} = false;", scope)
        at = self.opened(outer, scope)
        for axis in (rows, columns, inner):  # operands are addressed at the first position of the tile
            at = Scope(at.lines, at.block, at)
            at.names[axis] = Term(self.terms.ends(axis, scope)[0], "i64")
        a = self.operand(op.operand, rows, inner, at)
        lengths = ", ".join(self.length(axis, scope) for axis in (rows, columns, inner))
        calls: dict[tuple[str, ...], list[tuple[str, str]]] = {}  # of products in one call what is equal: the rest
        for each in ops:
            b, target = self.operand(each.second, inner, columns, at), self.memory.buffers[each.result]
            into = plus(target.name, self.memory.buffer_place(target, at))
            leading = self.terms.index(target.strides[target.axes.index(rows)], scope)
            equal = (leading, b.row, b.column, each.result.dtype, dtype_of(each.second))
            calls.setdefault(equal, []).append((into, b.source))
        for (leading, row, column, *_), made in calls.items():
            targets, others = (f"{{{', '.join(listed)}}}" for listed in zip(*made, strict=True))
            matrices = f"{a.source}, {a.row}, {a.column}, {others}, {row}, {column}"
            call = f"contract({targets}, {leading}, {matrices}, {lengths}, {accumulate}"
            if follow is not None and len(calls) == 1:
                follow(call)
            else:
                self.emit(f"{call});", at)
        if outer and not op.accumulate:
            at.lines.add(f"{accumulate} = true;")
        self.close(at, scope)
        return follow is not None and len(calls) == 1

    def sort(self, op: Op, scope: Scope) -> None:
        assert isinstance(op.expr, Name)
        (along,) = op.over
        at = self.opened(sorted(op.blocked - {along}), scope)
        at = Scope(at.lines, at.block, at)
        at.names[along] = Term(self.terms.ends(along, scope)[0], "i64")
        tiles = (self.memory.buffers[v] for v in (op.result, self.body.values[op.expr.id]))
        rows = ", ".join(plus(tile.name, self.memory.buffer_place(tile, at)) for tile in tiles)
        first, length = reach_of(self.body, op.result, along), self.length(along, scope)
        self.emit(f"sort({rows}, {length});" if first is None else f"sort_first({rows}, {length}, {first});", at)
        self.close(at, scope)

    def opened(self, axes: list[str], scope: Scope) -> Scope:
        """Loops over the positions of axes, until `close`."""
        for axis in axes:
            scope = self.terms.opened(axis, scope)
        return scope

    def close(self, at: Scope, scope: Scope) -> None:
        while at is not scope:
            assert at.parent is not None
            if at.lines is not at.parent.lines:
                at.parent.lines.add("}")
            at = at.parent

    def length(self, axis: str, scope: Scope) -> str:
        begin, end = self.terms.ends(axis, scope)
        return end if begin == "0" else f"{end} - {begin}"

    def operand(self, expr: Expr, row: str, column: str, scope: Scope) -> Operand:
        """A plain load straight from its tensor, anything else from the buffer that it was computed into."""
        if isinstance(expr, Call):
            element = element_of(expr)
            where = place(element.indices, self.memory.tensors[element.tensor].dims)
            steps = [step(self.body, where, axis) for axis in (row, column)]
            by = [self.memory.sum(s, scope) for s in steps if s is not None]
            return Operand(plus(element.tensor, self.memory.sum(where, scope)), *by)
        assert isinstance(expr, Name)
        buffer = self.memory.buffers[self.body.values[expr.id]]
        strides = dict(zip(buffer.axes, buffer.strides, strict=True))
        by = [self.memory.sum(self.stride(strides.get(axis)), scope) for axis in (row, column)]
        return Operand(plus(buffer.name, self.memory.buffer_place(buffer, scope)), *by)

    def stride(self, expr: Expr | None) -> Polynomial:
        return Polynomial(()) if expr is None else polynomial(expr)
