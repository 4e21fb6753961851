"""Loads get names, and what is loaded or computed twice in a block is so once.

Two loads are the same when their tensor is only read and their indices are equal as arithmetic, however they are
written: neighbouring windows, written out, share most of what they read, and what they join of it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

from akg_core.lower.ir import Body, Op
from akg_core.lower.substitute import replace_in
from akg_core.sketch.affine import polynomial, recombine
from akg_core.sketch.ast import Call, Element, Expr, Name, Type, rewrite
from akg_core.sketch.show import show_expression


def share(body: Body) -> None:
    """Name the loads of an explicit body, and keep of equal values the first."""
    shared = _Sharing(body)
    for region in body.regions:
        region.ops = shared.block(region.ops, {}, {})


class _Sharing:
    def __init__(self, body: Body) -> None:
        self.body = body
        self.read_only = {t.name for t in body.kernel.tensors if t.role == "In"}

    def block(self, ops: Sequence[Op], known: dict[Hashable, Name], names: dict[str, Expr]) -> list[Op]:
        """The ops of a block; `known`: values at hand by what they are, `names`: values that stand for others."""
        known, names = dict(known), dict(names)
        made: list[Op] = []
        for op in ops:
            replace_in([op], names)
            self.name_loads(op, known, made)
            if op.kind == "map" and op.target and not op.target.mutable and op.expr is not None:
                key = self.key(op.expr)
                found = known.get(key) if key is not None else None
                if found is not None and self.body.values[found.id].axes == op.target.axes:
                    names[op.target.name] = found
                    continue
                if key is not None:
                    known[key] = Name(op.target.name, type=Type(dtype=op.target.dtype))
            op.body, op.orelse = self.block(op.body, known, names), self.block(op.orelse, known, names)
            made.append(op)
        return made

    def name_loads(self, op: Op, known: dict[Hashable, Name], made: list[Op]) -> None:
        """Put every load of an op, but one that is all of a map, before it."""

        def change(node: Any) -> Any:
            if not isinstance(node, Call) or node.op != "load":
                return node
            key = self.key(node)
            if key is not None and key in known:
                return known[key]
            assert isinstance(node.args[0], Element)
            axes = self.body.axes_of(node)
            value = self.body.fresh(f"{node.args[0].tensor}_tile", axes, node.dtype)
            made.append(Op("map", op.place, target=value, expr=node, mask=op.mask, depth=op.depth))
            name = Name(value.name, type=Type(dtype=value.dtype))
            if key is not None:
                known[key] = name
            return name

        whole = op.kind == "map" and isinstance(op.expr, Call) and op.expr.op == "load"
        if whole:
            assert isinstance(op.expr, Call)
            element, keywords = op.expr.args[0], op.expr.keywords
            inner = tuple((word, rewrite(value, change)) for word, value in keywords)
            op.expr = replace(op.expr, args=(rewrite(element, change),), keywords=inner)
        else:
            op.expr, op.other = rewrite(op.expr, change), rewrite(op.other, change)
        op.element = rewrite(op.element, change)
        op.bounds = tuple(rewrite(bound, change) for bound in op.bounds)

    def key(self, expr: Expr) -> Hashable | None:
        """What an expression is, equal for what is certainly equal; None for what may change."""
        if any(value.mutable for value in self.body.values_of(expr)):
            return None
        if any(element.tensor not in self.read_only for element in self.body.elements_of(expr)):
            return None

        def change(node: Any) -> Any:
            if isinstance(node, Element):
                return replace(node, indices=tuple(map(self.index, node.indices)))
            return node

        return show_expression(rewrite(expr, change)), expr.type.dtype if expr.type else ""

    def index(self, index: Expr) -> Expr:
        """An index in one form, as a name made of its polynomial."""
        formulas = self.body.bounds.formulas
        plain = rewrite(index, lambda n: formulas.get(n.id, n) if isinstance(n, Name) else n)
        terms = recombine(polynomial(plain)).terms
        return Name(" + ".join("*".join([str(by), *map(show_expression, atoms)]) for atoms, by in terms))
