"""What tracing assumed of sizes that vary, as conditions over their names: "(s0 % 2) == 0", "s1 >= 12".

At other sizes forward may be another function than the graph: it takes another branch, it raises, it broadcasts.
Worker side only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import sympy
import torch
from torch.export import ExportedProgram
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from akg_core.task.export.translate import NotExpressible, Sizes, spelled
from akg_core.task.graph import holds

_INFIX = {
    "Equality": "==", "Unequality": "!=", "GreaterThan": ">=", "StrictGreaterThan": ">", "LessThan": "<=",
    "StrictLessThan": "<", "And": "and", "Or": "or", "Pow": "**",
}  # fmt: skip
_CALLS = {"Max": "max", "Min": "min", "TruncToInt": "int", "RoundToInt": "round"}


def conditions(programs: Sequence[ExportedProgram], sizes: Sizes) -> tuple[str, ...]:
    """Everything that tracing these programs, one made of the other, took for granted of the sizes that vary.

    Raises NotExpressible where that says something of a size that no argument has.
    """
    assumed = (condition for program in programs for condition in _assumed(program))
    found = dict.fromkeys(_text(each, sizes.names) for each in assumed if each is not sympy.true)
    for program in programs:
        found |= dict.fromkeys(_bounds(program, sizes, tuple(found)))
    return tuple(sorted(found, key=len))  # of several that a size breaks, the shortest says most


def _assumed(program: ExportedProgram) -> Iterator[sympy.Basic]:
    values = [node.meta.get("val") for node in program.graph.nodes]
    replaced: dict[sympy.Symbol, sympy.Expr] = {}
    for env in _environments(values):
        replaced |= env.replacements
        for guard in env.guards:
            yield _replaced(guard.expr, env.replacements)
    for node in program.graph.nodes:  # torch._check
        if node.target is torch.ops.aten._assert_scalar.default and isinstance(node.args[0], torch.fx.Node):
            asserted = node.args[0].meta.get("val")
            if isinstance(asserted, torch.SymBool):
                yield sympy.piecewise_fold(_replaced(asserted.node.expr, replaced))  # of a bool that it is 0 or 1


def _bounds(program: ExportedProgram, sizes: Sizes, known: tuple[str, ...]) -> Iterator[str]:
    """The least, when over 2, and the greatest that sizes may be, where that is not said by what is known."""
    for symbol, bounds in program.range_constraints.items():
        if (name := sizes.names.get(symbol)) is None:
            continue
        if bounds.lower > 2 and holds(
            known, {**sizes.values, name: int(bounds.lower) - 1}
        ):  # all are traced as 2 or more
            yield f"({name} >= {int(bounds.lower)})"
        if bounds.upper.is_Integer and holds(known, {**sizes.values, name: int(bounds.upper) + 1}):
            yield f"({name} <= {int(bounds.upper)})"


def _environments(values: Iterable[object]) -> list[ShapeEnv]:
    """The records of what was asked about sizes, while these values were traced."""
    sizes: list[Any] = [s for v in values if isinstance(v, torch.Tensor) for s in v.shape]
    nodes = [size.node for size in sizes if isinstance(size, torch.SymInt)]
    return [*{id(node.shape_env): node.shape_env for node in nodes}.values()]


def _replaced(expression: sympy.Basic, known: Mapping[sympy.Symbol, sympy.Expr]) -> sympy.Basic:
    """An expression in the symbols that are left when equal ones have become one."""
    while (other := expression.xreplace(dict(known))) != expression:
        expression = other
    return expression


def _text(e: sympy.Basic, names: Mapping[sympy.Symbol, str]) -> str:
    """An expression as Python text."""
    if e in (sympy.true, sympy.false):
        return str(bool(e))
    if isinstance(e, sympy.Add):
        less = [-each for each in e.args if each.as_coeff_Mul()[0] < 0]
        more = [each for each in e.args if -each not in less]
        if more and less:
            return f"({' - '.join([' + '.join(_text(a, names) for a in more), *(_text(a, names) for a in less)])})"
    kind, operands = type(e).__name__, [_text(a, names) for a in e.args]
    if kind in _INFIX:
        return f"({f' {_INFIX[kind]} '.join(operands)})"
    if kind in _CALLS:
        return f"{_CALLS[kind]}({', '.join(operands)})"
    match kind:
        case "Not":
            return f"(not {operands[0]})"
        case "FloorToInt":
            return f"int({operands[0]} // 1)"
        case "CeilToInt":
            return f"(-int(-{operands[0]} // 1))"
    if (found := spelled(e, operands, names)) is None:
        raise NotExpressible(f"what tracing assumes of sizes, {e}, is not said by the sizes of the arguments")
    return found
