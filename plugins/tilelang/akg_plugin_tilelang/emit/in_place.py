"""Products that are added to a sum which goes on, or become it, in place: matrix units add to what they hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from akg_core.plugin.lower import Body, Op
from akg_core.plugin.sketch import Binary, Name, walk


def add_in_place(body: Body) -> None:
    """`p = a @ b; s = x + p` is `s = x; s += a @ b` where s goes on, p is nothing else, and no factor is made of s.

    So `p = a @ b; s = p` is `s = a @ b`.
    """
    for region in body.regions:
        ops = list(region.inside())
        expressions = (expr for op in ops for expr in op.expressions())
        read = Counter(node.id for expr in expressions for node in walk(expr) if isinstance(node, Name))
        region.ops = _block(region.ops, {name for name, count in read.items() if count == 1})


def _block(ops: Sequence[Op], once: set[str]) -> list[Op]:
    made: list[Op] = []
    for op in ops:
        op.body, op.orelse = _block(op.body, once), _block(op.orelse, once)
        if made and _goes_on(made[-1], op, once):
            made[-1].target = op.target
            if isinstance(op.expr, Binary):
                made[-1].accumulate, op.expr = True, op.expr.left
                made.insert(-1, op)
        else:
            made.append(op)
    return made


def _goes_on(dot: Op, op: Op, once: set[str]) -> bool:
    """Whether an op keeps a product that is read `once`, or what it is added to, in a place that goes on."""
    product, total = dot.target, op.target
    if dot.kind != "dot" or "promote" in dot.hints or op.kind != "map" or not product or not total:
        return False
    kept = op.expr.right if isinstance(op.expr, Binary) and op.expr.op == "+" else op.expr
    factors = {n.id for e in (dot.expr, dot.other) for n in walk(e) if isinstance(n, Name)}
    alike = (product.dtype, product.axes) == (total.dtype, total.axes) and total.mutable and not product.mutable
    return kept == Name(product.name) and alike and product.name in once and total.name not in factors
