"""What is seen of expressions: what they load, how that lies in memory, and how TileLang would compute them."""

from __future__ import annotations

from akg_core.plugin.lower import Op
from akg_core.plugin.sketch import Binary, Call, Element, Expr, Name, Number, walk
from akg_core.plugin.tile import precision_of

WHOLE = 2**31  # longer than any run that ends within a tensor


def is_exact(op: Op) -> bool:
    """Whether matrix units would round what a product multiplies."""
    dtypes = {e.type.dtype for e in (op.expr, op.other) if e is not None and e.type is not None}
    return "f64" in dtypes or ("f32" in dtypes and precision_of(op) != "fast")


def branches(expr: Expr) -> bool:
    """Whether TileLang computes an expression element by element, and would store it so: it chooses."""
    return any(isinstance(node, Call) and node.op not in ("load", "cast") for node in walk(expr))


def run_of(index: Expr | None, axis: str) -> int:
    """How many neighbours along an axis lie in a row, by the digit of it that an index has; 0 where it has none."""
    for node in walk(index) if index is not None else ():
        if isinstance(node, Binary) and node.op == "%" and node.left == Name(axis):
            return int(node.right.value) if isinstance(node.right, Number) else 1
    return 0


def is_loaded(expr: Expr) -> bool:
    """Whether an expression is what lies at a place of a tensor, and at one that is not itself loaded."""
    loads = sum(isinstance(node, Element) for node in walk(expr))
    return isinstance(expr, Call) and expr.op == "load" and loads == 1
