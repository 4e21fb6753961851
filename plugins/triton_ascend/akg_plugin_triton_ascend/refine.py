"""These chips' view of a sketch: what kernels carry in f64 they carry in f32, for there is no f64.

Tensors of f64 are read: compared by their bits, and else narrowed to f32. Of those that go out only quotients rounded
down can be made.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from akg_core.plugin import Sketch
from akg_core.plugin.lower import float_dtype
from akg_core.plugin.sketch import Call, Text, ast, parse, require, show
from akg_plugin_triton_ascend.comparisons import on_bits
from akg_plugin_triton_ascend.emit import LACKS
from akg_plugin_triton_ascend.quotients import in_bits


def refine(sketch: Sketch) -> tuple[Sketch, ...]:
    """The sketch with f32 in place of f64, in kernels and in what they hand to each other.

    Tensors of the task stay f64: a kernel compares their bits, and reads the nearest f32 for all else. Where one of
    f64 goes out that `in_bits` makes, all are bits; where another does, the sketch is as it is, and refused later. A
    float argument is an f64 tensor without dimensions, which is handed over in f32 where no tensor of the task is f64.

    What is carried in f32 is less exact; whether it is exact enough, the judge finds out.
    """
    tree = require(parse(sketch.text, sketch.name), sketch.name)
    takes = float_dtype(sketch.interface, LACKS) == "f64" or _takes_f64(tree)
    compared = on_bits(tree)
    if _gives_f64(tree):
        changed = in_bits(tree, _given(tree.program)) or tree if tree.program else tree
    else:
        changed = _narrowed(compared) if takes else ast.rewrite(tree, _in_f32)
    return (sketch,) if changed == tree else (sketch.model_copy(update={"text": show(changed)}),)


def _takes_f64(tree: ast.SketchFile) -> bool:
    """Whether a tensor of f64 that has dimensions comes in; without a program each of the kernel's does."""
    where = tree.program.tensors if tree.program else tree
    return any(isinstance(n, ast.TensorParameter) and n.dtype == "f64" and n.dims for n in ast.walk(where))


def _gives_f64(tree: ast.SketchFile) -> bool:
    """Whether a tensor of f64 is made that goes out; without a program each that a kernel makes does."""
    if not tree.program:
        kernels = (node for node in ast.walk(tree) if isinstance(node, ast.TensorParameter))
        return any(tensor.dtype == "f64" and tensor.role != "In" for tensor in kernels)
    nodes = list(ast.walk(tree.program))
    wide = {node.target for node in nodes if isinstance(node, ast.Allocate) and node.dtype == "f64"}
    returned = {name for node in nodes if isinstance(node, ast.Return) for name in node.tensors}
    return bool(_with_views(tree.program, wide) & returned)


def _given(program: ast.Program) -> set[str]:
    """Tensors of f64 that a program is given, and views of them."""
    return _with_views(program, {tensor.name for tensor in program.tensors if tensor.dtype == "f64"})


def _with_views(program: ast.Program, names: Collection[str]) -> set[str]:
    """Tensors of a program of these names, and all views of them."""
    found = set(names)
    for node in ast.walk(program.body):  # a view comes after what it shows
        if isinstance(node, ast.View) and node.tensor in found:
            found.add(node.target)
    return found


def _narrowed(tree: ast.SketchFile) -> ast.SketchFile:
    """The checked tree, which gives no f64, where kernels read in f32 what comes in as f64, and carry all in f32."""
    if not tree.program:
        alone = (_reading(kernel, {tensor.name for tensor in kernel.tensors}) for kernel in tree.kernels)
        return replace(tree, kernels=tuple(alone))
    given = _given(tree.program)
    launches = [node for node in ast.walk(tree.program.body) if isinstance(node, ast.Launch)]
    kernels = []
    for kernel in tree.kernels:
        handed = [launch.tensors for launch in launches if launch.kernel == kernel.name]
        wide = {own.name for names in handed for own, name in zip(kernel.tensors, names, strict=True) if name in given}
        kernels.append(_reading(kernel, wide))
    program = replace(tree.program, body=ast.rewrite(tree.program.body, _in_f32))
    return replace(tree, kernels=tuple(kernels), program=program)


def _reading(kernel: ast.Kernel, wide: Collection[str]) -> ast.Kernel:
    """The kernel with f32 in place of f64, but for the tensors `wide`: these are read, and cast, or their bits are."""

    def change(node: Any) -> Any:
        match node:
            case ast.TensorParameter(name=name) if name in wide:
                return node
            case Call(op="load", args=(ast.Element(tensor=name),)) if name in wide and node.dtype == "f64":
                return Call("cast", (node, Text("f32")))
            case Call(op="bits" | "cast", args=(Call(op="cast", args=(load, Text(value="f32"))), *_)) if (
                isinstance(load, Call) and load.op == "load" and load.dtype == "f64"
            ):
                return Call("bits", (load,)) if node.op == "bits" else replace(_in_f32(node), args=(load, node.args[1]))
        return _in_f32(node)

    return ast.rewrite(kernel, change)


def _in_f32(node: Any) -> Any:
    if isinstance(node, (ast.Allocate, ast.TensorParameter)) and node.dtype == "f64" and node.dims:
        return replace(node, dtype="f32")
    if isinstance(node, Text) and node.value == "f64":
        return replace(node, value="f32")
    if isinstance(node, Call) and node.op == "f64":
        return replace(node, op="f32")
    return node
