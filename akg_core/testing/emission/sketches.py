"""Sketches that the tests of every emitter use, those of the language, and how a text becomes a sketch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from akg_core.records import Argument, Interface, Parameter, Sketch
from akg_core.sketch import ast
from akg_core.sketch.interpret.tiles import NAMES
from akg_core.sketch.parse import parse
from akg_core.sketch.program import program_of
from akg_core.sketch.show import show_expression

_EXAMPLES = (Path(__file__).parent / "examples", Path(__file__).parents[3] / "examples" / "sketches")
"""Where the twelve lie: where akg-core is installed, and where it is developed."""

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
SCATTERED_ROWS = """
@kernel
def rows(x: In["f32", 64, 1000], i: In["i64", 64, 5000], s: In["f32", 64, 5000], y: Out["f32", 64, 1000]):
    for m in grid(64, 1):
        n = whole(1000)
        store(y[m, n], load(x[m, n]))
        for k in tiles(5000, 1024):
            atomic_add(y[m, load(i[m, k])], load(s[m, k]))
"""
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


def example(name: str) -> str:
    """The text of one of the twelve sketches of the language, those of examples/sketches."""
    folder = next(path for path in _EXAMPLES if path.is_dir())
    return (folder / f"{name}.py").read_text(encoding="utf-8")


def sketch_of(text: str, name: str = "sketch", state: Mapping[str, Tensor] | None = None) -> Sketch:
    """The sketch of a text whose program takes only tensors; a dimension without a number is open in the interface.

    `state`: the module's parameters by qualified name, which the program may take besides.
    """
    program = program_of(parse(text, name))
    results = next(node.tensors for node in program.body if isinstance(node, ast.Return))
    interface = Interface(
        arguments=tuple(
            Argument(name=t.name, kind="tensor", dtype=t.dtype, shape=tuple(map(_dim, t.dims)))
            for t in program.tensors
            if t.role == "In"
        ),
        parameters=tuple(
            Parameter(name=name, dtype=NAMES[tensor.dtype], shape=tuple(tensor.shape), kind="buffer")
            for name, tensor in (state or {}).items()
        ),
        packing="tensor" if len(results) == 1 else "tuple",
    )
    return Sketch(name=name, text=text, interface=interface)


def _dim(expr: ast.Expr) -> int | str:
    return int(expr.value) if isinstance(expr, ast.Number) else show_expression(expr)
