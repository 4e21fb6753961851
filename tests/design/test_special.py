"""Rarer elementwise functions, gradients written out as operators, and tensors that forward makes of numbers."""

from __future__ import annotations

import pytest

from tests.design.judging import forward, judge, reference, several

GIVEN = "[torch.randn(6, 32), torch.randn(6, 32)]"
FUNCTIONS = [
    "torch.fmax(x, y) + torch.fmin(x, y.flip(0))", "torch.signbit(x)", "torch.signbit(x.trunc())",
    "torch.lgamma(x * 3)",
    "torch.lgamma(x.abs() * 1000 + 1e-3)", "torch.digamma(x * 3)", "torch.digamma(x.abs() * 100 + 1e-3)",
    "torch.erfinv(torch.tanh(x))", "torch.round(x * 10, decimals=1)", "torch.round(x * 1000, decimals=-2)",
    "torch.ldexp(x, (y * 3).int())", "torch.ops.aten.mish_backward(x, y * 9)",
    "torch.ops.aten.softshrink_backward(x, y, 0.5)", "torch.ops.aten.hardshrink_backward(x, y, 0.5)",
    "torch.special.i0(x * 9)", "torch.special.i0e(x * 30)", "torch.special.i1(x * 9)", "torch.special.i1e(x * 30)",
    "torch.special.erfcx(x.abs() * 6)", "torch.special.erfcx(x)", "torch.special.log_ndtr(x * 9)",
    "torch.special.ndtri(torch.sigmoid(x * 6))", "torch.special.xlog1py(x, y.abs())", "torch.special.xlog1py(x, 2.0)",
    "torch.ops.aten.gelu_backward(x, y)", "torch.ops.aten.hardswish_backward(x, y * 4)",
    "torch.ops.aten.silu_backward(x, y)", "torch.polygamma(0, x * 3)", "torch.polygamma(1, x * 3)",
    "torch.polygamma(1, x.abs() * 100)", "torch.frexp(x * y * 1e3)", "torch.frexp(x.double() * 1e-310)[0]",
    "torch.frexp(x * 1e-42)[1]", "torch.nextafter(x, y)", "torch.nextafter(x.double(), y.double())",
    "torch.ldexp(*torch.frexp(x))",
]  # fmt: skip
ENDS = (
    "[torch.tensor([0.0, -0.0, 1.0, 2.0, -1.0, -2.5, 1e30, float('inf'), -float('inf'), float('nan'), 0.5, -1e9])] * 2"
)
AT_ENDS = [
    "torch.lgamma(x)", "torch.lgamma(x) == 0", "torch.digamma(x)", "torch.erfinv(x)", "torch.signbit(x)",
    "torch.fmax(x, y.flip(0))",
    "torch.fmin(x, y.flip(0))", "torch.special.i0e(x)", "torch.special.i1e(x)", "torch.special.i1(x.clamp(-80, 80))",
    "torch.special.ndtri(x)", "torch.special.erfcx(x)", "torch.frexp(x)", "torch.nextafter(x, y)",
]  # fmt: skip
NUMBERS = [
    "torch.take(x, torch.tensor([1, 2, 7]))", "x * torch.tensor([[1., 2, 3, 4], [5, 6, 7, 8.]]).repeat(3, 8)",
    "x[:, torch.tensor([3, 1, 2])]", "x + torch.tensor([True, False]).repeat(16)", "x + torch.tensor(0.25)",
    "torch.bucketize(x, torch.tensor([-1., 0., 1.]))", "x.index_add(0, torch.tensor([1, 2, 1]), y[:3])",
    "x[:, torch.tril_indices(6, 6, -1)[0]] * y[:, torch.tril_indices(6, 6, -1)[1]]",
    "torch.tril_indices(7, 9) + 0 * x[0, 0]",
    "(x @ y.t())[torch.triu_indices(6, 6, 1)[0], torch.triu_indices(6, 6, 1)[1]]", "torch.triu_indices(9, 7, 2) * 1",
    "x[torch.tensor([5, 3, 1])] * torch.tensor([[1.5], [-0.0], [float('inf')]])", "x - torch.arange(32).flip(0)",
    "F.cross_entropy(x, torch.tensor([1, 2, 3, 4, 5, 0]), weight=torch.tensor([0.3, 1.0] * 16))",
]  # fmt: skip


@pytest.mark.parametrize("lines", [FUNCTIONS], ids=["functions"])
def test_elementwise(lines: list[str]) -> None:
    assert judge(reference(forward(several(lines), "x, y"), GIVEN)).kernels == (1,)


def test_values_at_which_functions_have_no_finite_one() -> None:
    judge(reference(forward(several(AT_ENDS), "x, y"), ENDS))


@pytest.mark.parametrize("line", NUMBERS)
def test_tensors_made_of_numbers(line: str) -> None:
    judge(reference(forward(line, "x, y"), GIVEN))


def test_a_long_table_of_numbers_is_read_from_memory() -> None:
    numbers = [number * number % 101 for number in range(200)]
    line = f"x[0, torch.tensor({numbers}) % 16] + torch.tensor({[number / 7 for number in numbers]})"
    task = judge(reference(forward(line, "x, y"), GIVEN)).task
    assert [parameter.kind for parameter in task.interface.parameters] == ["numbers", "numbers"]


@pytest.mark.parametrize(
    "line",
    [
        "torch.addmv(x[:, 0], x, y[0])",
        "torch.addbmm(x[:, :3], x.view(2, 6, 16), y.view(2, 16, 6)[:, :, :3])",
        "torch.dist(x, y)",
        "torch.mvlgamma(x.abs() + 3, 2)",
    ],
)
def test_combinations(line: str) -> None:
    judge(reference(forward(line, "x, y"), GIVEN))


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "uint8"])
def test_divisors(dtype: str) -> None:
    """Those of neighbours among Fibonacci's numbers take most divisions; 0 and numbers below it have divisors, too."""
    pairs = "[0, 0, 6, 144, 12, -12, 7, 89], [0, 5, 0, 89, 18, 18, -1, 55]"
    signed = pairs if dtype != "uint8" else pairs.replace("-", "")
    inputs = f"[torch.tensor(n, dtype=torch.{dtype}) for n in ({signed})]"
    judge(reference(forward("(torch.gcd(x, y), torch.lcm(x % 9, y % 7))", "x, y"), inputs))
