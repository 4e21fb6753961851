"""The twelve sketches with sizes in place of their dimensions, as the designer writes them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from akg_core.lower.fold import fold
from akg_core.records import Sketch
from akg_core.sketch import ast
from akg_core.sketch.parse import parse
from akg_core.sketch.program import program_of
from akg_core.sketch.show import show
from tests.emission.sketches import sketch_of

SKETCHES = Path(__file__).parents[2] / "examples" / "sketches"
SIZES: dict[str, dict[str, int]] = {
    "softmax": {"M": 512, "N": 5000},
    "layer_norm": {"B": 64, "H": 64, "W": 100},
    "linear_gelu": {"M": 1024, "N": 512, "K": 256},
    "batched_matmul": {"B": 8, "M": 500, "N": 300, "K": 128},
    "conv2d": {"B": 4, "C": 32, "H": 28, "W": 30, "O": 64, "CG": 32, "KH": 3, "KW": 3},
    "conv_transpose2d": {"B": 4, "C": 32, "H": 14, "W": 15, "O": 32, "KH": 3, "KW": 3},
    "max_pool2d": {"B": 4, "C": 16, "H": 57, "W": 60},
    "cumsum": {"M": 100, "N": 3000},
    "flash_attention": {"B": 2, "H": 4, "L": 500, "E": 64},
    "cross_entropy": {"M": 300, "N": 1000},
    "argmax": {"A": 8, "N": 200, "C": 300},
    "embedding_mean": {"B": 32, "T": 100, "V": 5000, "E": 256},
}


def sized(name: str) -> Sketch:
    """A sketch of examples/sketches whose program has numbers for sizes."""
    tree = parse((SKETCHES / f"{name}.py").read_text(), name)

    def put(node: object) -> object:
        return ast.Number(SIZES[name][node.id]) if isinstance(node, ast.Name) else fold(node)

    program = ast.rewrite(program_of(tree), put)
    return sketch_of(show(replace(tree, program=program)), name)
