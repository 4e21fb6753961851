"""Left factors that turns of a loop would copy beside each other are multiplied part by part."""

from __future__ import annotations

import pytest

from akg_core.sketch import ast
from akg_core.sketch.parse import parse
from akg_core.sketch.program import program_of
from tests.design.judging import SMALL, designed, judge, reference

CELL = """    def __init__(self):
        super().__init__()
        self.cell = nn.Linear({width}, 16)

    def forward(self, x):
        h = c = torch.ones(3, 16)
        for t in range(x.size(0)):
            z = torch.cat([{parts}], 1)
            h = torch.tanh(self.cell(z)){more}
            c = c * 0.5 + h
        return h, c"""


def source(parts: str, width: int, more: str = "") -> str:
    return reference(CELL.format(parts=parts, width=width, more=more), "[torch.randn(9, 3, 5)]")


def launches(text: str, blocks: int = 1 << 20) -> int:
    """How many launches a turn has, after the kernels were judged."""
    traits = SMALL.model_copy(update={"block_bytes": blocks})
    judge(text, traits=traits)
    (loop,) = (node for node in program_of(parse(designed(text, traits))).body if isinstance(node, ast.Range))
    return sum(isinstance(node, ast.Launch) for node in ast.walk(loop.body))


@pytest.mark.parametrize(("parts", "width"), [("x[t], h", 21), ("h, x[t]", 21), ("x[t], h, c", 37)])
def test_parts(parts: str, width: int) -> None:
    text = source(parts, width)
    assert launches(text) < launches(text, 0)


@pytest.mark.parametrize(
    ("parts", "width", "more"),
    [("x[t], h", 21, " + z[:, :16]"), ("x[t], torch.relu(c)", 21, ""), ("x[t][:, 1:], h", 20, ""), ("h, h", 32, "")],
    ids=["read elsewhere", "computed", "some columns", "twice"],
)
def test_what_else_is_joined(parts: str, width: int, more: str) -> None:
    text = source(parts, width, more)
    assert launches(text) == launches(text, 0)
