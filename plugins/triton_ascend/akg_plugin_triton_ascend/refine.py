"""These chips' view of a sketch: what kernels carry in f64 they carry in f32, for there is no f64.

Tensors of f64 may be compared, by their bits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from akg_core.plugin import Sketch
from akg_core.plugin.lower import float_dtype
from akg_core.plugin.sketch import Call, Text, ast, parse, require, show
from akg_plugin_triton_ascend.comparisons import on_bits
from akg_plugin_triton_ascend.emit import LACKS


def refine(sketch: Sketch) -> tuple[Sketch, ...]:
    """The sketch with f32 in place of f64, in kernels and in what they hand to each other.

    Where a tensor of the task is f64, its bits are compared; the sketch is as it is where more is done with it, which
    is refused later. A float argument is an f64 tensor without dimensions, which is handed over in f32.

    A sum that is carried in f32 is less exact; whether it is exact enough, the judge finds out.
    """
    tree = require(parse(sketch.text, sketch.name), sketch.name)
    changed = on_bits(tree) if _takes_or_gives_f64(sketch, tree) else ast.rewrite(tree, _in_f32)
    return (sketch,) if changed == tree else (sketch.model_copy(update={"text": show(changed)}),)


def _takes_or_gives_f64(sketch: Sketch, tree: ast.SketchFile) -> bool:
    """Whether a tensor of f64 comes in or goes out; without a program each of the kernel's does."""
    if float_dtype(sketch.interface, LACKS) == "f64":
        return True
    where = tree.program.tensors if tree.program else tree
    if any(isinstance(n, ast.TensorParameter) and n.dtype == "f64" and n.dims for n in ast.walk(where)):
        return True
    nodes = list(ast.walk(tree.program)) if tree.program else []
    viewed = {node.target: node.tensor for node in nodes if isinstance(node, ast.View)}
    wide = {node.target for node in nodes if isinstance(node, ast.Allocate) and node.dtype == "f64"}
    returned = {name for node in nodes if isinstance(node, ast.Return) for name in node.tensors}
    while further := {viewed[name] for name in returned if name in viewed} - returned:
        returned |= further
    return bool(returned & wide)


def _in_f32(node: Any) -> Any:
    if isinstance(node, (ast.Allocate, ast.TensorParameter)) and node.dtype == "f64" and node.dims:
        return replace(node, dtype="f32")
    if isinstance(node, Text) and node.value == "f64":
        return replace(node, value="f32")
    if isinstance(node, Call) and node.op == "f64":
        return replace(node, op="f32")
    return node
