"""Products of one left operand whose results meet elementwise: one kernel, where a program may sum several."""

from __future__ import annotations

import pytest

from akg_core.sketch import ast
from akg_core.sketch.parse import parse
from tests.design.judging import SMALL, USUAL, designed, forward, judge, reference

FUSED = SMALL.model_copy(update={"fused_products": 4, "units": 1})
X, W = "torch.randn(9, 12)", "torch.randn(12, 128)"
TOGETHER = {
    "gated": ("F.silu(x @ w) * (x @ v)", 2),
    "in a batch": ("F.silu(x.view(3, 3, 12) @ w) * (x.view(3, 3, 12) @ v)", 2),
    "halves": ("F.glu(x @ w, -1)", 2),
    "halves in a batch, with a bias": ("F.gelu((F.linear(x.view(3, 3, 12), w.t(), v[0])).chunk(2, -1)[0]) *"
    " F.linear(x.view(3, 3, 12), w.t(), v[0]).chunk(2, -1)[1]", 2),
    "gates": ("(lambda i, f, g, o: o.sigmoid() * (f.sigmoid() * y + i.sigmoid() * g.tanh()))(*(x @ w).chunk(4, 1))", 4),
    "three of four": ("(lambda i, f, g, o: (f.sigmoid() * y + i.sigmoid() * g.tanh()))(*(x @ w).chunk(4, 1))", 3),
    "one twice": ("(x @ w) * (x @ w).sigmoid() + (x @ v)", 2),
}  # fmt: skip
APART = {
    "other rows": "F.silu(x @ w) * (x.flip(0) @ v)",
    "an output besides": "(F.silu(x @ w) * (a := x @ v), a)",
    "columns of other rows": "(x @ w) * (x @ v).flip(0)",
    "columns again and again": "(x @ w) * (x @ v)[:, :1].expand(-1, 128)",
    "more than one kernel reads it": "(lambda a, b: (a * b + 1, b.cumsum(0)))(x @ w, x @ v)",
}


def source(line: str) -> str:
    return reference(forward(line, "x, w, v, y"), f"[{X}, {W}, {W}, torch.randn(9, 32)]")


def products(text: str) -> list[int]:
    """How many products each kernel has that has any."""
    counts = (sum(isinstance(n, ast.Call) and n.op == "dot" for n in ast.walk(k.body)) for k in parse(text).kernels)
    return [count for count in counts if count]


@pytest.mark.parametrize("name", TOGETHER)
def test_in_one_kernel(name: str) -> None:
    line, count = TOGETHER[name]
    judge(source(line), traits=FUSED)
    assert products(designed(source(line), FUSED)) == [count]


@pytest.mark.parametrize("name", APART)
def test_apart(name: str) -> None:
    judge(source(APART[name]), traits=FUSED)
    assert products(designed(source(APART[name]), FUSED)) == [1, 1]


def test_what_is_written_in_between() -> None:
    body = """    def __init__(self):
        super().__init__()
        self.register_buffer("held", torch.randn(9, 12))

    def forward(self, x, w, v):
        a = self.held @ w
        self.held += x
        return a * (self.held @ v)"""
    judge(reference(body, f"[{X}, {W}, {W}]"), traits=FUSED)


def test_only_where_enough_programs_are_left_and_the_chip_has_room() -> None:
    line = source(TOGETHER["gates"][0])
    assert products(designed(line, FUSED.model_copy(update={"units": 4}))) == [1]
    assert products(designed(line, FUSED.model_copy(update={"fused_products": 3}))) == [1]
    assert products(designed(line, USUAL)) == [1]
