"""A chip's own view of a sketch: how products of f32 are made on matrix units.

Plain f32 products run outside of them. Where a sketch leaves it open, products become error-compensated ones, which are
about as exact as f32, but for operands below the normal numbers, of which matrix units make zero. A second sketch has
plain products, for where that matters; a third rounds the operands and makes one narrow product, for where the
reference's own arithmetic does no better. Which of them is right and which is fast, the judge and the tuner find out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from akg_core.plugin import Sketch
from akg_core.plugin.sketch import Call, Expr, Text, Tune, ast, parse, require, show


def refine(sketch: Sketch, rounds: str) -> tuple[Sketch, ...]:
    """The sketch with compensated products first, then with plain ones, then with rounded ones; as it is when it has no
    open product.

    `rounds`: the format that operands of narrow products are rounded to ("tf32").
    """
    tree = require(parse(sketch.text, sketch.name), sketch.name)
    if not any(_open(node) for node in ast.walk(tree)):
        return (sketch,)
    compensated = _with(tree, lambda call: _said(call, Tune(("split3", "ieee"))))
    rounded = _with(tree, lambda call: _said(_rounded(call, rounds), Text("fast")))
    plain = _with(tree, lambda call: _said(call, Text("ieee")))
    return (
        sketch.model_copy(update={"text": show(compensated)}),
        sketch.model_copy(update={"text": show(plain)}),
        sketch.model_copy(update={"text": show(rounded), "rounds": rounds}),
    )


def _open(node: object) -> bool:
    """A product of two f32 tiles whose precision nobody has chosen, and which has rows and columns of its own."""
    if not isinstance(node, Call) or node.op != "dot" or any(name == "precision" for name, _ in node.keywords):
        return False
    kinds = [argument.type for argument in node.args]
    if not all(kind is not None and kind.dtype == "f32" for kind in kinds):
        return False
    a, b = (kind.axes for kind in kinds if kind is not None)
    return bool(a - b) and bool(b - a)


def _with(tree: ast.SketchFile, change: Callable[[Call], Call]) -> ast.SketchFile:
    def put(node: Any) -> Any:
        return change(node) if _open(node) else node

    return ast.rewrite(tree, put)


def _said(call: Call, precision: Expr) -> Call:
    return replace(call, keywords=(*call.keywords, ("precision", precision)))


def _rounded(call: Call, rounds: str) -> Call:
    return replace(call, args=tuple(Call("round_to", (a, Text(rounds)), type=a.type) for a in call.args))
