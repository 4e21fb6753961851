"""docs/sketch.md is true: each example parses, checks and computes what the PyTorch code beside it does."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from akg_core.sketch import ast
from akg_core.sketch.check import check
from akg_core.sketch.codes import CODES
from akg_core.sketch.interpret import interpret
from akg_core.sketch.interpret.tiles import TORCH
from akg_core.sketch.ops import HINTS, OPERATIONS
from akg_core.sketch.parse import parse
from akg_core.sketch.program import program_of
from akg_core.sketch.show import show

PAGE = (Path(__file__).parents[2] / "docs" / "sketch.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.S | re.M)
SKETCHES = [block for block in BLOCKS if not block.startswith("import torch")]
PAIRS = [(a, b) for a, b in pairwise(BLOCKS) if b.startswith("import torch")]
SIZES = {"M": 13, "N": 37, "K": 19, "B": 2, "T": 5, "C": 3, "H": 5, "W": 7}


def name(block: str) -> str:
    return block.split("def ")[1].split("(")[0]


@pytest.mark.parametrize("block", SKETCHES, ids=name)
def test_checks(block: str) -> None:
    tree = parse(block)
    assert parse(show(tree)) == tree
    assert check(tree).findings == ()


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: name(pair[0]))
def test_computes(pair: tuple[str, str]) -> None:
    tree = parse(pair[0])
    torch.manual_seed(0)
    given = {t.name: tensor(t) for t in program_of(tree).tensors}
    roles = {t.name: t for t in program_of(tree).tensors}
    scope: dict = {}
    exec(pair[1], scope)
    expected = scope["expected"](*(value.clone() for value in given.values()))
    inputs = [value for key, value in given.items() if roles[key].role == "In"]
    parameters = {roles[key].source: value for key, value in given.items() if roles[key].role == "Param"}
    (output,) = interpret(tree, inputs, parameters).outputs
    torch.testing.assert_close(output, expected, rtol=1e-5, atol=1e-5)


def tensor(declared: ast.TensorParameter) -> torch.Tensor:
    shape = [SIZES[dim.id] for dim in declared.dims if isinstance(dim, ast.Name)]
    dtype = TORCH[declared.dtype]
    return torch.randn(shape, dtype=dtype) if dtype.is_floating_point else torch.randint(0, 5, shape, dtype=dtype)


def test_page_lists_everything() -> None:
    for operation in OPERATIONS.values():
        assert f"| `{operation.signature}` |" in PAGE and operation.summary in PAGE, operation.name
    for hint, (value, summary) in HINTS.items():
        assert f"| `{hint}` | {value} |" in PAGE and summary in PAGE
    for code, title in CODES.items():
        assert f"| {code} | {title} |" in PAGE


def test_page_has_pairs() -> None:
    assert len(SKETCHES) >= 12 and len(PAIRS) >= 10
