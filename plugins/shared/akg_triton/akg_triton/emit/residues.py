"""Stores of tiles whose rows hold residues of a position: `store(y[m % C, m // C + R * n], t)`, as transposed
convolutions make them.

Neighbours in memory are then neither neighbours along m nor along n. Seen as C columns of R times as many positions,
which is how the same numbers lie in the tile, they are neighbours along the positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from akg_core.plugin.lower import fold
from akg_core.plugin.sketch import INDEX, Binary, Call, Element, Expr, Name, Number, number, polynomial, rewrite, walk
from akg_triton.emit.axes import START, ZERO
from akg_triton.emit.meeting import MeetingWriter
from akg_triton.emit.terms import ATOM, Axis, Scope


class ResidueWriter(MeetingWriter):
    """Adds stores of residues."""

    def store(self, call: Call, scope: Scope) -> str:
        element = call.args[0]
        if not isinstance(element, Element) or call.op != "store":
            return super().store(call, scope)
        found = self.residues(call, element, scope)
        if found is None:
            return super().store(call, scope)
        rows, columns, divisor = found
        value = self.term(call.args[1], scope)
        wide, tall = scope.axes[columns], scope.axes[rows]
        if set(value.axes) != {wide.name, tall.name}:
            return super().store(call, scope)
        positions, channels = self.regrouped(wide, tall, divisor)
        text = value.text if value.axes == (wide.name, tall.name) else f"tl.trans({value})"
        text = f"tl.reshape({text}, [{positions.block}, {channels.block}])"
        axes = self.ordered((positions.name, channels.name))
        text = text if axes == (positions.name, channels.name) else f"tl.trans({text})"
        inner = scope.inner()
        inner.axes |= {positions.name: positions, channels.name: channels}
        inner.values["residues"] = replace(value, text=text, axes=axes, rank=ATOM, expr=None)
        at, channel = (Name(axis.name, type=INDEX) for axis in (positions, channels))
        count = Number(_lanes(tall) // divisor)

        def put(node: Any) -> Any:
            if isinstance(node, Binary) and node.left == Name(rows) and node.right == Number(divisor):
                return channel if node.op == "%" else Binary("%", at, count, type=INDEX)
            return Binary("//", at, count, type=INDEX) if node == Name(columns) else node

        indices = tuple(_plain(rewrite(index, put), at) for index in element.indices)
        stored = replace(call, args=(replace(element, indices=indices), Name("residues", type=call.args[1].type)))
        return super().store(stored, inner)

    def residues(self, call: Call, element: Element, scope: Scope) -> tuple[str, str, int] | None:
        """The axes of rows and columns of a store of residues, and how many channels each residue has."""
        kind = call.args[1].type
        if kind is None or len(kind.axes) < 2:
            return None
        tiled = [name for name in sorted(kind.axes) if name in scope.axes and not scope.axes[name].unit]
        if len(tiled) != 2 or not all(isinstance(scope.axes[name].block, int) for name in tiled):
            return None
        for rows, columns in (tiled, tiled[::-1]):
            divisor, axis = _divisor(element.indices, rows), scope.axes[rows]
            if divisor is None or axis.partial or axis.begin.text != "0" or divisor & (divisor - 1):
                continue
            count = _lanes(axis) // divisor
            if count > 1 and _interleaves(element.indices, rows, divisor, columns, count):
                return rows, columns, divisor
        return None

    def regrouped(self, wide: Axis, tall: Axis, divisor: int) -> tuple[Axis, Axis]:
        """The axes of positions and of channels."""
        count = Number(_lanes(tall) // divisor, type=INDEX)
        begin = self.whole("*", [wide.begin, self.size(count)], "i64")
        extent = fold(Binary("*", wide.extent, count, type=INDEX))
        step = Number(_lanes(wide) * int(count.value), type=INDEX)
        if not isinstance(begin.expr, Number):
            begin = self.named(f"{wide.name}_apart_begin", begin)
            self.counters[begin.text] = (ZERO, extent)
            self.multiples[begin.text] = int(step.value)
            begin = replace(begin, expr=Name(begin.text, type=INDEX))
        scope, size = Scope(), Number(divisor, type=INDEX)
        positions = self.open(f"{wide.name}_apart", scope, extent, step, begin, None, wide.partial)
        return positions, self.open(f"{tall.name}_apart", scope, size, size, START, None, False)


def _lanes(axis: Axis) -> int:
    assert isinstance(axis.block, int)
    return axis.block


def _plain(index: Expr, at: Name) -> Expr:
    """An index whose digits of `at` come together again, as the position that they are of."""
    found = polynomial(index)
    if found.atoms() != {at} or found.factor_of(at) != number(1):
        return index
    rest = (found + -polynomial(at)).constant or 0
    return at if rest == 0 else Binary("+" if rest > 0 else "-", at, Number(abs(rest), type=INDEX), type=INDEX)


def _divisor(indices: Sequence[Expr], axis: str) -> int | None:
    """The number by which an axis is taken apart everywhere in the indices."""
    nodes = [node for index in indices for node in walk(index)]
    cuts = [n for n in nodes if isinstance(n, Binary) and n.op in ("//", "%") and n.left == Name(axis)]
    numbers = {n.right.value for n in cuts if isinstance(n.right, Number)}
    named = sum(isinstance(n, Name) and n.id == axis for n in nodes)
    whole = len(numbers) == 1 and len(cuts) == named and {n.op for n in cuts} == {"//", "%"}
    return int(numbers.pop()) if whole else None


def _interleaves(indices: Sequence[Expr], rows: str, divisor: int, columns: str, count: int) -> bool:
    """Whether some index counts residues up between positions of a column's steps."""
    residue = Binary("//", Name(rows), Number(divisor))
    for index in indices:
        nodes = list(walk(index))
        steps = [n for n in nodes if isinstance(n, Binary) and n.op == "*" and n.right == Number(count)]
        if residue in nodes and any(Name(columns) in list(walk(step.left)) for step in steps):
            return True
    return False
