"""Matrix products of all forms, their operands seen through views, their epilogues."""

from __future__ import annotations

import pytest

from akg_core.sketch.ast import Call, walk
from akg_core.sketch.check import check
from akg_core.sketch.parse import parse
from tests.design.judging import SMALL, USUAL, designed, forward, judge, reference

HALF = "torch.randn(24, 24).half()"
LINES = {
    "x @ y": ("(33, 17)", "(17, 29)"),
    "x.t() @ y": ("(17, 33)", "(17, 29)"),
    "x @ y.t()": ("(33, 17)", "(29, 17)"),
    "x.T @ y.T": ("(17, 33)", "(29, 17)"),
    "x.T @ x": ("(17, 33)", "(1,)"),
    "torch.bmm(x, y)": ("(3, 33, 17)", "(3, 17, 29)"),
    "torch.bmm(x, y.transpose(1, 2))": ("(3, 33, 17)", "(3, 29, 17)"),
    "x @ y ": ("(2, 3, 33, 17)", "(17, 29)"),
    "x @ y  ": ("(2, 3, 9, 17)", "(2, 3, 17, 5)"),
    "x @ y   ": ("(2, 3, 9, 17)", "(3, 17, 5)"),
    "torch.einsum('bijl,lk->bijk', x, y)": ("(2, 3, 5, 7)", "(7, 9)"),
    "torch.einsum('bik,bjk->ij', x, y)": ("(4, 5, 7)", "(4, 6, 7)"),
    "torch.einsum('bhqd,bkhd->bhqk', x, y)": ("(2, 3, 5, 7)", "(2, 6, 3, 7)"),
    "x @ y    ": ("(40, 300)", "(300, 1)"),
    "x @ y     ": ("(40, 300)", "(300,)"),
    "x @ y      ": ("(300,)", "(300, 40)"),
    "x @ y       ": ("(300,)", "(300,)"),
    "x @ y        ": ("(1, 300)", "(300, 40)"),
    "torch.outer(x, y)": ("(40,)", "(30,)"),
    "torch.diag(x) @ y": ("(20,)", "(20, 30)"),
    "torch.diag(x @ y)": ("(20, 7)", "(7, 20)"),
    "torch.triu(x @ y)": ("(40, 17)", "(17, 40)"),
    "torch.tril(x @ y, -3)": ("(40, 17)", "(17, 40)"),
    "torch.triu(x @ y, 2) ": ("(40, 17)", "(17, 50)"),
    "torch.tril(torch.tril(x) @ torch.tril(y))": ("(40, 40)", "(40, 40)"),
    "F.gelu(x @ y * 0.5 + 1)": ("(33, 17)", "(17, 29)"),
    "torch.relu(x) @ torch.sigmoid(y)": ("(33, 17)", "(17, 29)"),
    "(x @ y).softmax(-1)": ("(33, 17)", "(17, 29)"),
    "(x @ y).sum(1)": ("(33, 17)", "(17, 29)"),
    "((x @ y) @ y.t()) @ y": ("(33, 17)", "(17, 29)"),
    "(x @ y).t() + 1": ("(33, 17)", "(17, 29)"),
    "(x @ y).permute(0, 2, 1, 3)": ("(2, 3, 33, 17)", "(17, 29)"),
    "x @ y         ": ("(33, 1)", "(1, 29)"),
    "torch.baddbmm(x, x, y, beta=0.3, alpha=2)": ("(3, 9, 9)", "(3, 9, 9)"),
    "torch.addmm(x[0], x, y)": ("(9, 9)", "(9, 9)"),
    "F.linear(x, y)": ("(2, 3, 9)", "(5, 9)"),
    "F.bilinear(x, y, x[:3, :, None] * y[:3, None, :], x[0, :3])": ("(9, 7)", "(9, 5)"),
    "(x @ y, x @ y + 1, (x @ y).relu())": ("(33, 17)", "(17, 29)"),
    "torch.cat([x @ y, x @ y * 2], 1)": ("(33, 17)", "(17, 29)"),
}


@pytest.mark.parametrize("line", LINES)
def test_against_eager(line: str) -> None:
    left, right = LINES[line]
    judge(reference(forward(line.strip(), "x, y"), f"[torch.randn{left}, torch.randn{right}]"))


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
@pytest.mark.parametrize(
    "line", ["x @ y", "F.relu(x @ y + 1)", "x @ y[:, 0]", "F.gelu(x) @ y", "x.t().contiguous().t() @ y"]
)
def test_dtypes(line: str, dtype: str) -> None:
    judge(
        reference(
            forward(line, "x, y"),
            f"[torch.randn(19, 23, dtype=torch.{dtype}), torch.randn(23, 9, dtype=torch.{dtype})]",
        )
    )


NARROW = {
    "F.relu(x @ y) @ z": 2,
    "(x.relu() @ y) @ z": 2,
    "x @ (y * z)": 1,
    "x @ (torch.ones(24, 24, dtype=torch.int8).to(x.dtype) * y)": 1,
    "(x.float() @ y.float()).to(x.dtype)": 1,
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("line", NARROW)
def test_narrow_factors_stay_narrow(line: str, dtype: str) -> None:
    """What was computed is multiplied in the dtype that eager PyTorch has it in, and a cast that loses nothing is no
    reason to multiply in f32."""
    source = reference(forward(line, "x, y, z"), f"[torch.randn(24, 24, dtype=torch.{dtype}) for _ in range(3)]")
    tree = check(parse(designed(source))).tree
    dots = [n for n in walk(tree) if isinstance(n, Call) and n.op == "dot"]
    short = {"float16": "f16", "bfloat16": "bf16"}[dtype]
    assert [a.type.dtype for d in dots for a in d.args if a.type] == [short] * 2 * NARROW[line]
    judge(source)


def test_scaled_f16_factors_do_not_overflow() -> None:
    """Only the number that eager PyTorch has as f16, too, may become it: not one that is scaled down in f32 before."""
    judge(reference(forward("(x.float() * 30000 * 0.00001).half() @ y", "x, y"), f"[{HALF}, {HALF}]"))


def test_integers() -> None:
    for dtype in ("int64", "int32", "uint8"):
        given = f"torch.randint(0, 90, {{}}, dtype=torch.{dtype})"
        judge(reference(forward("x @ y", "x, y"), f"[{given.format('(9, 17)')}, {given.format('(17, 5)')}]"))
    given = "torch.randint(-128, 128, {}, dtype=torch.int8)"
    given = f"[{given.format('(24, 16)')}, {given.format('(16, 8)')}]"
    judge(reference(forward("torch._int_mm(x, y)", "x, y"), given))
    source = reference(forward("(x.int() @ y.int()).float()", "x, y"), given)
    judge(source)
    (dot,) = [n for n in walk(check(parse(designed(source))).tree) if isinstance(n, Call) and n.op == "dot"]
    assert [a.type.dtype for a in dot.args if a.type] == ["i8", "i8"] and dot.type.dtype == "i32"
    large = "torch.randint(-(1 << 31), 1 << 31, {}, dtype=torch.int32)"  # sums come round, as PyTorch's do
    judge(reference(forward("x @ y", "x, y"), f"[{large.format('(9, 17)')}, {large.format('(17, 5)')}]"))


LINEAR = """
    def __init__(self, n, m):
        super().__init__()
        self.fc = nn.Linear(n, m)
        self.head = nn.Linear(m, 3, bias=False)

    def forward(self, x):
        {}
"""


@pytest.mark.parametrize("line, kernels", [
    ("return self.fc(x)", 1),
    ("return F.gelu(self.fc(x)) * 2 + 1", 1),
    ("return self.head(torch.relu(self.fc(x)))", 2),
    ("return self.fc(x).softmax(-1)", 2),
    ("return torch.sigmoid(self.fc(x).sum(-1))", 2),
])  # fmt: skip
@pytest.mark.parametrize("shape", ["(50, 20)", "(2, 7, 20)"])
def test_linear_with_epilogue(line: str, kernels: int, shape: str) -> None:
    outcome = judge(reference(LINEAR.format(line).rstrip(), f"[torch.randn{shape}]", "[20, 30]"), traits=USUAL)
    assert outcome.kernels[0] == kernels


def test_masked_tiles_are_left_out() -> None:
    text = (
        judge(reference(forward("torch.tril(x @ y)", "x, y"), "[torch.randn(90, 17), torch.randn(17, 90)]"))
        .sketches[0]
        .text
    )
    assert "if begin(n) - end(m)" in text


def test_long_contractions_are_split() -> None:
    outcome = judge(
        reference(forward("x.t() @ y + 1", "x, y"), "[torch.randn(3000, 9), torch.randn(3000, 7)]"), traits=SMALL
    )
    assert outcome.kernels == (2, 1)
