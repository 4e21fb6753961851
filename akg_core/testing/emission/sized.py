"""Sketches with sizes in place of their program's dimensions, as the designer writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from akg_core.lower.fold import fold
from akg_core.records import Sketch
from akg_core.sketch import ast
from akg_core.sketch.parse import parse
from akg_core.sketch.program import program_of
from akg_core.sketch.show import show
from akg_core.testing.emission.sketches import example, sketch_of

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


def with_sizes(text: str, name: str, sizes: Mapping[str, int]) -> str:
    """The sketch with these numbers for the dimensions of its program."""
    tree = parse(text, name)

    def put(node: object) -> object:
        return ast.Number(sizes[node.id]) if isinstance(node, ast.Name) else fold(node)

    return show(replace(tree, program=ast.rewrite(program_of(tree), put)))


def sized(name: str) -> Sketch:
    """A sketch of examples/sketches whose program has numbers for sizes."""
    return sketch_of(with_sizes(example(name), name, SIZES[name]), name)
