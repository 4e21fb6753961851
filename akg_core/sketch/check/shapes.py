"""Sizes and shapes of a program's tensors: what views make of them, and whether they agree."""

from __future__ import annotations

from collections.abc import Container, Mapping

from akg_core.sketch import ast
from akg_core.sketch.affine import Polynomial, number, polynomial

Rows = tuple[str, ast.Expr, ast.Expr]
"""Of which tensor a narrow of dimension 0 has which rows: the tensor, the first, how many; of one that is contiguous
which of the elements of its memory."""

VIEW_USAGE = {
    "reshape": "A reshape keeps the number of elements: reshape(y, M, N).",
    "permute": "A permute names every dimension once: permute(y, 1, 0).",
    "narrow": "narrow(y, dimension, start, length) takes a part of one dimension; a step may follow. i64 "
    "tensors without dimensions may be in the length.",
    "floats": "floats(y) takes i64 for the bits of f64, or i32 for those of f32, and no sizes.",
    "unfold": "unfold(y, dimension, length, step) has parts of so many neighbours of one dimension, each in a last "
    "one of its own.",
    "expand": "expand(y, M, N) names every dimension; those of size 1 may grow.",
}


def viewed(node: ast.View, dims: tuple[ast.Expr, ...]) -> tuple[ast.Expr, ...] | None:
    """The dimensions of a view, or None when it cannot be."""
    args = node.args
    match node.op:
        case "reshape":
            difference = _elements(args) + -_elements(dims)
            certain = all(isinstance(atom, ast.Name) for atom in difference.atoms())
            return None if difference.terms and certain else args
        case "permute":
            order = [a.value for a in args if isinstance(a, ast.Number)]
            return tuple(dims[int(i)] for i in order) if sorted(order) == list(range(len(dims))) else None
        case "narrow":
            position = args[0].value if len(args) in (3, 4) and isinstance(args[0], ast.Number) else -1
            if not 0 <= position < len(dims):
                return None
            return tuple(args[2] if i == position else dim for i, dim in enumerate(dims))
        case "unfold":
            return unfolded(args, dims)
        case "floats":
            return None if args else dims
    return args if len(args) == len(dims) else None


def unfolded(args: tuple[ast.Expr, ...], dims: tuple[ast.Expr, ...]) -> tuple[ast.Expr, ...] | None:
    """The dimensions of an unfold."""
    position = args[0].value if len(args) == 3 and isinstance(args[0], ast.Number) else -1
    if not 0 <= position < len(dims):
        return None
    _, length, step = args
    starts = ast.Binary("-", dims[int(position)], length)
    parts = ast.Binary("+", ast.Binary("//", starts, step), ast.Number(1))
    return (*(parts if i == position else dim for i, dim in enumerate(dims)), length)


def read_by(node: ast.View, tensors: Container[str]) -> frozenset[str]:
    """The tensors that stand for numbers in a view."""
    return frozenset(n.id for n in ast.walk(node.args) if isinstance(n, ast.Name) and n.id in tensors)


def leading_narrow(node: ast.View) -> bool:
    return node.op == "narrow" and len(node.args) == 3 and node.args[0] == ast.Number(0)


def elements_of_rows(
    memory: str, before: Rows | None, dims: tuple[ast.Expr, ...], start: ast.Expr, length: ast.Expr
) -> Rows:
    """The elements that rows of a contiguous tensor have, which itself begins where `before` does."""
    each: ast.Expr = ast.Number(1)
    for dim in dims[1:]:
        each = ast.Binary("*", each, dim)
    first: ast.Expr = ast.Binary("*", start, each)
    if before is not None:
        first = ast.Binary("+", before[1], first)
    return memory, first, ast.Binary("*", length, each)


def apart(a: Rows | None, b: Rows | None) -> bool:
    """Whether two narrows of one tensor are sure to have no row in common."""
    if a is None or b is None or a[0] != b[0]:
        return False
    (_, start, rows), (_, other, others) = a, b
    return _after(other, start, rows) or _after(start, other, others)


def _after(start: ast.Expr, other: ast.Expr, rows: ast.Expr) -> bool:
    """Whether `start` is sure to be no less than `other` + `rows`."""
    difference = (sized(start) + -sized(other) + -sized(rows)).constant
    return difference is not None and difference >= 0


def _elements(dims: tuple[ast.Expr, ...]) -> Polynomial:
    total = number(1)
    for dim in dims:
        total = total * sized(dim)
    return total


def substitute(expr: ast.Expr, values: Mapping[str, ast.Expr]) -> ast.Expr:
    """`expr` with names replaced by what they stand for."""
    return ast.rewrite(expr, lambda n: values.get(n.id, n) if isinstance(n, ast.Name) else n)


def sized(expr: ast.Expr) -> Polynomial:
    """A size as a polynomial, divisions of numbers carried out."""
    return polynomial(ast.rewrite(expr, _divide))


def _divide(node: object) -> object:
    if isinstance(node, ast.Binary) and node.op in ("//", "%"):
        top, bottom = polynomial(node.left), polynomial(node.right).constant
        if bottom == 1:
            return node.left if node.op == "//" else ast.Number(0)
        if top.constant is not None and bottom:
            return ast.Number(top.constant // bottom if node.op == "//" else top.constant % bottom)
    return node


def shown_size(expr: ast.Expr) -> str:
    from akg_core.sketch.show import show_expression

    constant = sized(expr).constant
    return str(constant) if constant is not None else show_expression(expr)


def shape(dims: tuple[ast.Expr, ...]) -> str:
    return f"({', '.join(map(shown_size, dims))})"
