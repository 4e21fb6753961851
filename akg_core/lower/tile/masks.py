"""Masks, written where they are needed and nowhere else.

A load or store gets the condition under which its places exist: that its lanes are positions, and what is not proved of
its indices. What is combined along an axis gets, in lanes that are no positions, what changes nothing there. After this
pass a printer adds no mask of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from typing import Any

from akg_core.lower.ir import Body, Op, element_of
from akg_core.sketch import numerics
from akg_core.sketch.ast import Binary, Call, Element, Expr, Name, Number, Type

EXISTS = "exists"
"""`exists(n)`: which lanes of an axis' tile are positions; an operation of the IR, not of the language."""

_ZERO_AT_ZERO = """
    abs asin asinh atan atanh ceil erf expm1 floor gelu gelu_tanh log1p relu round sign silu sin sinh sqrt tan tanh
    trunc
"""
_BOOL, _INDEX = Type(dtype="bool"), Type(dtype="i64")


def mask(body: Body) -> None:
    """Write masks into a padded, explicit body: of loads as the keyword `mask`, of stores as the op's `mask`.

    A mask that an op has before is a condition on all that it loads and stores.
    """
    _Masks(body).run()


class _Masks:
    def __init__(self, body: Body) -> None:
        self.body = body
        self.tensors = body.tensors
        self.guard: Expr | None = None  # a condition under which the op at hand does anything
        self.fills: dict[str, float] = {}  # what lanes that do not exist hold, by value

    def run(self) -> None:
        for op in self.body.ops():
            self.guard, op.mask = op.mask, None
            op.rewrite(self.loaded)
            if op.kind == "map":
                self.note(op)
            elif op.kind == "store":
                op.mask = self.condition(op.destination, self.body.axes_of(op.destination))
            elif op.kind in ("reduce", "scan", "sort", "dot"):
                self.combined(op)

    def note(self, op: Op) -> None:
        fill = self.fill(op.operand)
        if fill is not None and not op.result.mutable and self.body.axes_of(op.operand) == op.result.axes:
            self.fills[op.result.name] = fill

    # --- places ---

    def loaded(self, node: Any) -> Any:
        """A load with its mask."""
        if not isinstance(node, Call) or node.op != "load" or "mask" in dict(node.keywords):
            return node
        element = element_of(node)
        condition = self.condition(element, self.body.axes_of(element))
        if condition is None:
            return node
        given = {"other": Number(0, type=node.type), **dict(node.keywords)}
        return replace(node, keywords=(*given.items(), ("mask", condition)))

    def condition(self, element: Element, axes: Iterable[str]) -> Expr | None:
        """The condition under which the places of an element exist; None where all do."""
        found = [self.exists(axis) for axis in sorted(axes) if self.body.axes[axis].partial]
        found += [self.guard] if self.guard is not None else []
        for index, size in zip(element.indices, self.tensors[element.tensor].dims, strict=True):
            below, beyond = self.body.bounds.unproved(index, size)
            if below:
                found.append(Binary(">=", index, Number(0, type=_INDEX), type=_BOOL))
            if beyond:
                found.append(Binary("<", index, replace(size, type=_INDEX), type=_BOOL))
        return reduce(_both, found) if found else None

    def exists(self, axis: str) -> Expr:
        return Call(EXISTS, (Name(axis, type=_INDEX),), type=_BOOL)

    # --- what is combined ---

    def combined(self, op: Op) -> None:
        """Have lanes that do not exist along the axes that an op goes over change nothing."""
        if op.function in ("first", "last") or (op.kind == "scan" and not op.reverse):
            return
        partial = [axis for axis in op.over if self.body.axes[axis].partial]
        function = {"dot": "reduce_sum", "sort": "reduce_min"}.get(op.kind, op.function)  # what is least comes first
        none = numerics.identity(function, op.operand.dtype)
        if partial and op.kind == "sort":
            op.hints = {}  # what fills a tile up rises once more
        op.expr = self.neutral(op.operand, partial, none)
        if op.other is not None:
            op.other = self.neutral(op.other, partial, none)

    def neutral(self, expr: Expr, axes: list[str], none: float | int | bool) -> Expr:
        own = self.body.axes_of(expr)
        left = axes if self.fill(expr) != none else [axis for axis in axes if axis not in own]
        if not left:
            return expr
        condition = reduce(_both, map(self.exists, left))
        number = none if expr.dtype == "bool" or not isinstance(none, bool) else int(none)
        return Call("where", (condition, expr, Number(number, type=expr.type)), place=expr.place, type=expr.type)

    def fill(self, expr: Expr) -> float | None:
        """What an expression is in lanes of its own axes that do not exist; None where that is not known."""
        match expr:
            case Name(id=name):
                return self.fills.get(name)
            case Call(op="cast", args=(inner, *_)):
                return self.fill(inner)
            case Call(op="load", keywords=keywords):
                other = dict(keywords).get("other", Number(0))
                masked = "mask" in dict(keywords)
                return float(other.value) if masked and isinstance(other, Number) else None
            case Call(op=op, args=(inner,)) if op in _ZERO_AT_ZERO.split():
                return 0.0 if self.fill(inner) == 0.0 else None
            case Binary(op="*" | "+" | "-", left=left, right=right):
                alike = self.body.axes_of(left) == self.body.axes_of(right)
                return 0.0 if alike and self.fill(left) == self.fill(right) == 0.0 else None
        return None


def conjuncts(mask: Expr | None) -> list[Expr]:
    """The conditions that must all hold where a mask does."""
    if isinstance(mask, Binary) and mask.op == "and":
        return [*conjuncts(mask.left), *conjuncts(mask.right)]
    return [] if mask is None else [mask]


def over_all(body: Body, mask: Expr, axes: Iterable[str]) -> Expr:
    """The mask with a comparison for each of the `axes` that it leaves out, all of whose lanes are positions."""
    left = [axis for axis in axes if axis not in body.axes_of(mask)]
    ends = (Binary("<", Name(axis, type=_INDEX), body.axes[axis].extent, type=_BOOL) for axis in left)
    return reduce(_both, ends, mask)


def _both(left: Expr, right: Expr) -> Expr:
    return Binary("and", left, right, type=_BOOL)
