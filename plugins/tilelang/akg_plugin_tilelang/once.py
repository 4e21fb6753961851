"""Expressions in which what is written several times is computed once: kernels repeat indices in masks and loads."""

from __future__ import annotations

import ast
from collections import Counter

_COMPUTED = (ast.BinOp, ast.Compare, ast.Call)


def each_once(expression: str) -> str:
    """The text of an expression without effects, all of whose parts are computed, in the order of reading."""
    tree = ast.parse(expression, mode="eval")
    found = Counter(ast.unparse(node) for node in ast.walk(tree) if isinstance(node, _COMPUTED))
    several = {text for text, times in found.items() if times > 1}
    return ast.unparse(_Named(several).visit(tree)) if several else expression


class _Named(ast.NodeTransformer):
    """Gives what occurs several times a name where it is first read, and that name to what comes later."""

    def __init__(self, several: set[str]) -> None:
        self.several = several
        self.names: dict[str, str] = {}

    def visit(self, node: ast.AST) -> ast.AST:
        text = ast.unparse(node) if isinstance(node, _COMPUTED) else ""
        if text not in self.several:
            return self.generic_visit(node)
        if text in self.names:
            return ast.Name(self.names[text], ast.Load())
        value = self.generic_visit(node)
        self.names[text] = f"once_{len(self.names)}"
        assert isinstance(value, ast.expr)
        return ast.NamedExpr(ast.Name(self.names[text], ast.Store()), value)
