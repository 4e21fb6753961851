"""Constants of index arithmetic, brought together: `x + 2 - 1` as `x + 1`, and `(x + 2) * 3` as `x * 3 + 6`."""

from __future__ import annotations

from typing import Any

from akg_core.lower.fold import fold
from akg_core.lower.ir import Body
from akg_core.sketch.affine import INDEX
from akg_core.sketch.ast import Binary, Expr, Name, Number


def collect_constants(body: Body) -> None:
    """Rewrite the index arithmetic of every op of an explicit body."""
    for op in body.ops():
        op.rewrite(_collected)


def _collected(node: Any) -> Any:
    if not isinstance(node, Binary) or node.op not in ("+", "-", "*") or node.type is None or node.type.dtype != "i64":
        return node
    found, number = _shifted(node.left), node.right
    if found is None or not isinstance(number, Number):
        return fold(node)
    base, shift = found
    value = int(number.value)
    if node.op == "*":
        if not isinstance(base, Name) and not (isinstance(base, Binary) and base.op == "*"):
            return node
        return _sum(fold(Binary("*", base, number, place=node.place, type=INDEX)), shift * value)
    return _sum(base, shift + value if node.op == "+" else shift - value)


def _shifted(expr: Expr) -> tuple[Expr, int] | None:
    """What a number is added to, and the number."""
    if isinstance(expr, Binary) and expr.op in ("+", "-") and isinstance(expr.right, Number):
        return expr.left, int(expr.right.value) * (1 if expr.op == "+" else -1)
    return None


def _sum(base: Expr, number: int) -> Expr:
    if number == 0:
        return base
    return Binary("+" if number > 0 else "-", base, Number(abs(number), type=INDEX), place=base.place, type=INDEX)
