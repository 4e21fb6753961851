"""Sketches that the tests of every emitter use, and how a text becomes a sketch."""

from __future__ import annotations

from akg_core.records import Argument, Interface, Sketch
from akg_core.sketch import ast
from akg_core.sketch.parse import parse
from akg_core.sketch.program import program_of

ADD = """
@kernel
def add(x: In["f32", "N"], z: In["f32", "N"], y: Out["f32", "N"], BN: Tune[1024, 4096] = 1024):
    for n in grid(N, BN):
        store(y[n], load(x[n]) + load(z[n]), stream=True)
"""
SOFTMAX = """
@kernel
def softmax(x: In["f32", 64, 4096], y: Out["f32", 64, 4096]):
    for m in grid(64, 1):
        n = whole(4096)
        t = load(x[m, n])
        e = exp(t - reduce_max(t, n))
        store(y[m, n], e / reduce_sum(e, n))
"""
SOFTMAX_STORE = 1 + SOFTMAX.splitlines().index("        store(y[m, n], e / reduce_sum(e, n))")
"""The line of SOFTMAX that stores, 1-based."""
SCALE_THREE_TIMES = """
@kernel
def scale(x: In["f32", "N"], y: Out["f32", "N"], S: Const = 2):
    for n in grid(N, 64):
        store(y[n], load(x[n]) * S)

@program
def model(x: In["f32", 100]):
    a = empty("f32", 100)
    scale(x, a)
    b = empty("f32", 100)
    scale(a, b)
    c = empty("f32", 100)
    scale(b, c, S=3)
    return c
"""


def sketch_of(text: str, name: str = "sketch") -> Sketch:
    """The sketch of a text whose program takes only tensors; a dimension without a number is open in the interface."""
    tensors = [tensor for tensor in program_of(parse(text, name)).tensors if tensor.role == "In"]
    arguments = tuple(
        Argument(name=t.name, kind="tensor", dtype=t.dtype, shape=tuple(map(_dim, t.dims))) for t in tensors
    )
    return Sketch(name=name, text=text, interface=Interface(arguments=arguments))


def _dim(expr: ast.Expr) -> int | str:
    assert isinstance(expr, ast.Name | ast.Number)
    return expr.id if isinstance(expr, ast.Name) else int(expr.value)
