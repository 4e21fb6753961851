"""Constant folding of expressions, and the identities of integers that constants leave behind."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce
from typing import Any

from akg_core.notation import COMPARISONS, FUNCTIONS
from akg_core.sketch.affine import INDEX
from akg_core.sketch.ast import Binary, Call, Expr, Number, Unary

_NOT_OF_INTEGERS = ("/", "**")
_OF_FLOATS = ("+", "-", "*", "/", *COMPARISONS)
_MATH: dict[str, Callable[..., float]] = {name: getattr(math, name) for name in ("exp", "log", "sqrt", "tanh", "erf")}


def fold(node: Any) -> Any:
    """A node whose operands are all numbers as one number; other nodes as they are.

    Integers fold exactly; floats only where the language computes on the host in double (uniform values).
    """
    if isinstance(node, Unary) and isinstance(node.operand, Number):
        value = node.operand.value
        return _number(node, -value if node.op == "-" else not value if node.op == "not" else ~int(value))
    if isinstance(node, Binary) and isinstance(node.left, Number) and isinstance(node.right, Number):
        return _fold_binary(node, node.left.value, node.right.value)
    if isinstance(node, Binary):
        return _simplify(node)
    if isinstance(node, Call) and node.args and not node.keywords and all(isinstance(a, Number) for a in node.args):
        values = [a.value for a in node.args if isinstance(a, Number)]
        if node.op in ("maximum", "minimum") and all(isinstance(v, int) for v in values):
            return _number(node, (max if node.op == "maximum" else min)(values))
        if node.op in _MATH and node.type is not None and node.type.weak:
            try:
                return _number(node, _MATH[node.op](*values))
            except (ValueError, OverflowError):
                return node
    return node


def _number(node: Expr, value: int | float | bool) -> Number:
    return Number(value, place=node.place, type=node.type)


def _fold_binary(node: Binary, a: int | float | bool, b: int | float | bool) -> Expr:
    integers = isinstance(a, int) and isinstance(b, int)
    if node.op == "/" and b == 0 and not integers and (node.type is None or node.type.weak):
        undefined = a == 0 or math.isnan(a)
        return _number(node, math.nan if undefined else math.copysign(math.inf, a) * math.copysign(1.0, b))
    if node.op in ("//", "%", "/") and b == 0:
        return node
    if node.op == "**" and integers and b >= 0:
        return _number(node, a**b)
    weak = node.type is None or node.type.weak
    if (integers and node.op not in _NOT_OF_INTEGERS) or (weak and node.op in _OF_FLOATS):
        return _number(node, FUNCTIONS[node.op](a, b))
    return node


def _simplify(node: Binary) -> Expr:
    """The integer identities that specialisation leaves behind: x*1, x+0, x//1, x%1."""
    if node.type is None or node.type.dtype != "i64":
        return node
    left, right, op = node.left, node.right, node.op
    if isinstance(left, Number) and op in "+*":
        left, right = right, left
    if not isinstance(right, Number) or left.type is None or left.type.dtype != "i64":
        return node
    if (op in ("+", "-") and right.value == 0) or (op in ("*", "//") and right.value == 1):
        return left
    if (op == "%" and right.value == 1) or (op == "*" and right.value == 0):
        return replace(right, value=0, type=node.type)
    return node


def tiles_of(extent: Expr, step: Expr) -> Expr:
    """How many tiles of `step` positions there are in `extent`."""
    past = Binary("+", extent, fold(Binary("-", step, Number(1, type=INDEX), type=INDEX)), type=INDEX)
    return fold(Binary("//", fold(past), step, type=INDEX))


def product(sizes: Iterable[Expr]) -> Expr:
    """Sizes multiplied."""
    return reduce(lambda a, b: fold(Binary("*", a, b, type=INDEX)), sizes, Number(1, type=INDEX))
