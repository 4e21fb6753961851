"""Which operands a chip can copy a block at a time, and the hint that asks for it."""

from __future__ import annotations

from dataclasses import replace

from akg_core.design.algebra.index import position
from akg_core.design.graph.values import NARROW
from akg_core.design.kernels.writer import Writer
from akg_core.design.nest.terms import Load, Term
from akg_core.sketch.ast import Call, Element, Statement, Text, rewrite


def plain(term: Term) -> bool:
    """Whether an operand is blocks of 16-bit numbers in memory, each row of them after the other."""
    if not isinstance(term, Load) or term.dtype not in NARROW:
        return False
    axes = [next(iter(p.axes()), None) for p in term.at[-2:]]
    return len(axes) == 2 and all(a and p == position(a) for a, p in zip(axes, term.at[-2:], strict=True))


def in_bulk(statements: list[Statement], writer: Writer, operands: list[Term]) -> list[Statement]:
    """The statements with the loads of these operands, however they are written, a whole tile at a time."""
    buffers = {t.buffer for t in operands if isinstance(t, Load)}
    names = {parameter.name for parameter in writer.parameters.values() if parameter.buffer in buffers}

    def asked(node: object) -> object:
        if not isinstance(node, Call) or node.op != "load" or not isinstance(node.args[0], Element):
            return node
        here = node.args[0].tensor in names and all(key != "via" for key, _ in node.keywords)
        return replace(node, keywords=(*node.keywords, ("via", Text("bulk")))) if here else node

    return [rewrite(statement, asked) for statement in statements]
