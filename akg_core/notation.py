"""Arithmetic in Python's own notation for what stands for numbers: values of a graph, expressions of a sketch."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T", bound="Notation")

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_,
    "|": operator.or_, "^": operator.xor, "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge, "and": lambda a, b: bool(a) and bool(b),
    "or": lambda a, b: bool(a) or bool(b),
}  # fmt: skip
"""What each symbol between two operands computes."""


def _kind(symbol: str) -> type[ast.AST]:
    node: Any = ast.parse(f"a {symbol} b", mode="eval").body
    return type(node.ops[0] if isinstance(node, ast.Compare) else node.op)


COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
SYMBOLS: dict[type[ast.AST], str] = {_kind(symbol): symbol for symbol in FUNCTIONS}
"""The symbol of each kind of operator in Python's syntax trees."""


def _operator(op: str) -> Callable[[T, Any], T]:
    return lambda left, right: left.combined(op, left, right)


def _reflected(op: str) -> Callable[[T, Any], T]:
    return lambda right, left: right.combined(op, left, right)


class Notation:
    """Has operators that stand for an operation on it and on others like it, or numbers.

    `==` is left to tell objects apart; `equals` and `differs` are the operations.
    """

    __slots__ = ()

    def combined(self: T, op: str, *operands: Any) -> T:
        """The operation `op` on some operands, of which this is one; "neg" and "not" have one."""
        raise NotImplementedError

    __add__, __sub__, __mul__, __truediv__ = _operator("+"), _operator("-"), _operator("*"), _operator("/")
    __floordiv__, __mod__, __pow__ = _operator("//"), _operator("%"), _operator("**")
    __lshift__, __rshift__, __and__, __or__, __xor__ = map(_operator, ("<<", ">>", "&", "|", "^"))
    __lt__, __le__, __gt__, __ge__ = map(_operator, ("<", "<=", ">", ">="))
    __radd__, __rsub__, __rmul__, __rtruediv__ = map(_reflected, "+-*/")
    equals, differs = _operator("=="), _operator("!=")

    def __neg__(self: T) -> T:
        return self.combined("neg", self)

    def __invert__(self: T) -> T:
        return self.combined("not", self)
