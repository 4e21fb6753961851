"""These chips' view of a sketch: what kernels carry in f64 they carry in f32, for there is no f64."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from akg_core.plugin import Sketch
from akg_core.plugin.sketch import Call, Text, ast, parse, require, show


def refine(sketch: Sketch) -> tuple[Sketch, ...]:
    """The sketch with f32 in place of f64 inside of kernels; as it is where tensors are f64, which is refused later.

    A float argument is an f64 tensor without dimensions, which is handed over in f32.

    A sum that is carried in f32 is less exact; whether it is exact enough, the judge finds out.
    """
    tree = require(parse(sketch.text, sketch.name), sketch.name)
    nodes = list(ast.walk(tree))
    if any(isinstance(node, ast.TensorParameter) and node.dtype == "f64" and node.dims for node in nodes):
        return (sketch,)
    changed = ast.rewrite(tree, _in_f32)
    return (sketch,) if changed == tree else (sketch.model_copy(update={"text": show(changed)}),)


def _in_f32(node: Any) -> Any:
    if isinstance(node, Text) and node.value == "f64":
        return replace(node, value="f32")
    if isinstance(node, Call) and node.op == "f64":
        return replace(node, op="f32")
    return node
