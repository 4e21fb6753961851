"""Numbers that the host computes of float arguments, in double, before it launches anything: `full("f64", 1 - beta)`.

So a kernel takes what Python would compute, rounded once, whatever dtype it takes floats in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from akg_core.notation import FUNCTIONS
from akg_core.sketch import ast
from akg_core.sketch.program import statements
from akg_core.sketch.show import show_expression

OPERATORS = ("+", "-", "*", "/", "neg")
"""What such numbers are made by, as the graph calls it."""


def is_scalar(node: object) -> bool:
    """Whether a node of an expression may stand in one of float arguments."""
    match node:
        case ast.Unary(op="-") | ast.Name():
            return True
        case ast.Binary(op=op):
            return op in OPERATORS
    return isinstance(node, ast.Number) and not isinstance(node.value, bool)


def evaluated(expr: ast.Expr, arguments: Mapping[str, float]) -> float:
    """The number that an expression of `arguments` is. Raises ZeroDivisionError as Python does."""
    match expr:
        case ast.Name(id=name):
            return arguments[name]
        case ast.Unary(operand=operand):
            return -evaluated(operand, arguments)
        case ast.Binary(op=op, left=left, right=right):
            return float(FUNCTIONS[op](evaluated(left, arguments), evaluated(right, arguments)))
    assert isinstance(expr, ast.Number), expr
    return float(expr.value)


def floats_of(program: ast.Program, numbers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The tensors of one float that kernels read, with the number of each as Python text: what is computed of float
    arguments, then these. `numbers`: the Python names of float arguments by those in the program, which may be equal.
    """

    def spoken(node: object) -> object:
        return ast.Name(numbers[node.id]) if isinstance(node, ast.Name) else node

    for node in program.body:
        if isinstance(node, ast.Allocate) and isinstance(node.fill, ast.Expr):
            yield node.target, show_expression(ast.rewrite(node.fill, spoken))
    read = {n for s in statements(program) if isinstance(s, (ast.Launch, ast.Return)) for n in s.tensors}
    read |= {node.tensor for node in statements(program) if isinstance(node, ast.View)}
    yield from ((name, number) for name, number in numbers.items() if name in read)
