"""What holds of the tile IR after every pass; a lowering that breaks it has a fault of its own."""

from __future__ import annotations

from collections.abc import Sequence

from akg_core.lower.ir import Body, Op
from akg_core.lower.show import show_op
from akg_core.sketch.ast import Call, Element, Expr, Name, walk


class BrokenIR(Exception):
    """A pass made what is not the tile IR: the op, and what is wrong with it."""


def verify(body: Body) -> None:
    """Raises BrokenIR where a value is read before it is there, or where axes and dims do not fit."""
    _Verifier(body).run()


class _Verifier:
    def __init__(self, body: Body) -> None:
        self.body = body
        self.tensors = body.tensors
        self.bounds_of_axes = {
            end.id: axis.name for axis in body.axes.values() for end in (axis.begin, axis.end) if isinstance(end, Name)
        }

    def run(self) -> None:
        whole = {axis.name for axis in self.body.axes.values() if axis.step is None}
        for region in self.body.regions:
            self.block(region.ops, whole | {axis.name for axis in region.grid}, set())

    def block(self, ops: Sequence[Op], axes: set[str], known: set[str]) -> None:
        """`axes` are open around the ops, the values `known` are there before the first of them."""
        known = set(known)
        for op in ops:
            for expr in op.expressions():
                self.expression(op, expr, axes, known)
            if op.kind == "tiles":
                self.block(op.body, axes | {op.tiled.name}, known)
            elif op.kind == "range":
                opened = {op.axis.name} if op.axis is not None else set[str]()
                self.block(op.body, axes | opened, known | {op.result.name})
            elif op.kind == "if":
                self.require(op, not self.axes_of(op.expr), "a condition is a scalar")
                self.block(op.body, axes, known)
                self.block(op.orelse, axes, known)
            elif op.kind not in ("store", "wait", "barrier"):
                axes = axes | set(op.over[2:] if op.kind == "regroup" else ())
                self.defined(op, axes)
                if op.accumulate:
                    self.require(op, op.result.name in known, f"{op.result.name} is added to before it is there")
                known.add(op.result.name)

    def defined(self, op: Op, axes: set[str]) -> None:
        """The target's axes are what the operands leave."""
        self.require(op, op.target is not None, "an op with a result has a target")
        closed = op.result.axes - axes
        lasting = all(self.body.axes[name].lanes is not None for name in closed)
        self.require(op, lasting, "the target's axes are open, or have lanes that outlast their loop")
        left = self.axes_of(op.expr) | self.axes_of(op.other)
        if op.kind in ("reduce", "dot", "regroup"):
            left -= set(op.over)
        self.require(op, left <= op.result.axes, "the target has the axes of what it is made of")

    def expression(self, op: Op, expr: Expr, axes: set[str], known: set[str]) -> None:
        blocks = [n.args[0] for n in walk(expr) if isinstance(n, Call) and n.op == "load_block"]
        for node in walk(expr):
            if isinstance(node, Element) and any(node is block for block in blocks):
                self.require(op, len(node.indices) == 2, "a block is at a row and a column")
            elif isinstance(node, Element):
                dims = self.body.tensors[node.tensor].dims
                self.require(op, len(node.indices) == len(dims), f"{node.tensor} has {len(dims)} dimensions")
            elif isinstance(node, Call) and node.op == "load":
                self.require(op, isinstance(node.args[0], Element), "a load is of an element")
            elif isinstance(node, Name) and node.id in known:
                continue
            elif isinstance(node, Name) and node.id in self.body.axes:
                self.require(op, node.id in axes, f"the axis {node.id} is open")
            elif isinstance(node, Name) and node.id in self.bounds_of_axes:
                self.require(op, self.bounds_of_axes[node.id] in axes, f"the axis of {node.id} is open")
            elif isinstance(node, Name) and node.id in self.body.values:
                value = self.body.values[node.id]
                self.require(op, value.definition is not None, f"{node.id} is read after it is there")

    def axes_of(self, expr: Expr | None) -> set[str]:
        return set() if expr is None else set(self.body.axes_of(expr))

    def require(self, op: Op, holds: bool, what: str) -> None:
        if not holds:
            raise BrokenIR(f"{what}: not so at `{show_op(op)}` (line {op.place.line} of the sketch)")
