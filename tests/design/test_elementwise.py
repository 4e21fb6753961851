"""Elementwise operators, their fusion, broadcasting, dtypes and the memory order of what comes out."""

from __future__ import annotations

import pytest

from tests.design.judging import designed, forward, judge, reference, several

ACTIVATIONS = [
    "torch.relu(x)", "torch.sigmoid(x)", "torch.tanh(x)", "F.gelu(x)", "F.gelu(x, approximate='tanh')", "F.selu(x)",
    "F.elu(x, 0.7)", "F.hardsigmoid(x)", "F.hardswish(x)", "F.softplus(x)", "F.softplus(x, beta=2, threshold=1)",
    "F.softsign(x)", "F.hardtanh(x, -0.5, 0.7)", "F.leaky_relu(x, 0.2)", "F.silu(x)", "F.mish(x)", "F.logsigmoid(x)",
    "F.relu6(x)", "F.celu(x, 0.5)", "F.threshold(x, 0.1, 20.0)", "F.hardshrink(x)", "F.softshrink(x)",
]  # fmt: skip
MATHEMATICS = [
    "torch.exp(x) + torch.exp2(x) + torch.expm1(x)", "torch.log(x.abs()) + torch.log2(x.abs() + 1)",
    "torch.log10(x.abs() + 1)", "torch.sqrt(x.abs()) * torch.rsqrt(x.abs() + 1) + torch.log1p(x.abs())",
    "torch.sin(x) + torch.cos(x) * torch.tan(x)", "torch.erf(x) + torch.atan(x) + torch.asin(x.clamp(-1, 1))",
    "x.floor() + x.ceil() + x.round() + x.trunc() + x.sign()", "x ** 2 + x ** 3 - x ** 4", "torch.atan2(x, x + 2)",
    "x.abs() ** 0.5 + x.abs() ** 1.7", "2.0 ** x", "x.abs() ** x", "torch.reciprocal(x) - 1 / x", "torch.square(x)",
    "torch.addcmul(x, x, x, value=0.3)", "torch.lerp(x, x * x, 0.3)", "x.nan_to_num()", "torch.sub(1, x, alpha=2)",
    "torch.hypot(x * 1e25, x.flip(0) * 1e25) + torch.hypot(x.trunc(), x.trunc() * 0)",
]  # fmt: skip
CHOICES = [
    "torch.where(x > 0, x, -x * 3)", "torch.maximum(x, x * x) - torch.minimum(x, 0.3 * x)", "x.clamp(min=-0.1)",
    "torch.fmod(x, 0.3) + torch.remainder(x, 0.3)", "x.div(0.7, rounding_mode='floor')", "x.new_ones(3, 5, 7) * 2",
    "x.div(0.7, rounding_mode='trunc')", "(x > 0) & (x < 1) | torch.isnan(x)", "(x > 0) ^ (x < 0.5)", "~(x > 0)",
    "torch.logical_not(x > 0)", "torch.add(x, x, alpha=3)", "1 / torch.copysign(x.trunc(), x * 0)",
    "torch.copysign(x, -2)", "F.rrelu(x, 0.1, 0.5, training=False)", "torch.zeros_like(x) + 2",
    "x <= x.round()", "x != 0",
]  # fmt: skip


@pytest.mark.parametrize("lines", [ACTIVATIONS, MATHEMATICS, CHOICES], ids=["activations", "mathematics", "choices"])
def test_one_kernel(lines: list[str]) -> None:
    outcome = judge(reference(forward(several(lines)), "[torch.randn(3, 5, 7)]"))
    assert outcome.kernels == (1,)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_dtypes(dtype: str) -> None:
    judge(reference(forward("F.gelu(x * 1.5 + 0.1) / (1 + x.abs())"), f"[torch.randn(5, 33, dtype=torch.{dtype})]"))


INTEGERS = [
    "x + 2", "x * x - 3 * x", "x / 2", "x // 2", "x % 3", "x ** 2", "torch.relu(x)", "x.abs().float()", "-x", "x > 1",
    "x == y", "x + y", "torch.div(x, 2, rounding_mode='trunc')", "x & 3", "x | y", "x ^ y", "~x", "x << 1", "x.sign()",
    "x.clamp(-2, 2)", "x * 1.5", "x.to(torch.float16) * 1.5", "torch.where(x > 0, x, 0)", "x.bool()",
    "torch.sqrt(x.abs())",
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_integers(dtype: str) -> None:
    given = f"torch.randint(-5, 6, (3, 17), dtype=torch.{dtype})"
    judge(reference(forward(several(INTEGERS), "x, y"), f"[{given}, {given}]"))


def test_small_integers_and_bool() -> None:
    judge(
        reference(
            forward("(x + y, x * y, b + b, b * x, b.to(torch.uint8) + 250)", "x, y, b"),
            "[torch.randint(-5, 6, (19,), dtype=torch.int8), torch.randint(0, 6, (19,), dtype=torch.uint8), "
            "torch.randn(19) > 0]",
        )
    )


@pytest.mark.parametrize("shapes", [
    "(5, 7), (7,)", "(5, 7), (5, 1)", "(5, 1), (1, 7)", "(3, 5, 7), (5, 1)", "(2, 3, 5, 7), (3, 1, 1)", "(5, 7), ()",
    "(1,), (4, 3)",
    "(4, 3, 5), (4, 1, 5)",
])  # fmt: skip
def test_broadcasting(shapes: str) -> None:
    a, b = (f"torch.randn({s})" for s in shapes.replace("), (", ")|(").split("|"))
    judge(reference(forward("x * y + 1", "x, y"), f"[{a}, {b}]"))


def test_promotion_of_mixed_dtypes() -> None:
    judge(
        reference(
            forward("(x + i, x * h, i / 2, h + 1.5, d + x, x > i, i + b, x + s)", "x, i, h, d, b, s"),
            "[torch.randn(9), torch.randint(0, 5, (9,)), torch.randn(9).half(), torch.randn(9).double(), "
            "torch.randn(9) > 0, torch.tensor(2.5, dtype=torch.float64)]",
        )
    )


def test_a_number_is_an_argument() -> None:
    outcome = judge(reference(forward("x * s + s / 2", "x, s"), "[torch.randn(9, 5), 3.14]"))
    assert 's: In["f64"]' in outcome.sketches[0].text


def test_what_is_made_of_float_arguments_alone_is_computed_on_the_host() -> None:
    """The largest such expressions, but none that goes out."""
    line = several(["x * (1 - s * r)", "x * -(1 - r) + (1 - r)", "torch.full((1,), 1.0, dtype=torch.float64) - r"])
    outcome = judge(reference(forward(line, "x, s, r"), "[torch.randn(9, 5), 3.14, 0.999]"))
    made = [line for line in outcome.sketches[0].text.splitlines() if "full(" in line]
    assert [line.partition(" = ")[2] for line in made] == [
        'full("f64", 1.0 - s * r)', 'full("f64", -(1.0 - r))', 'full("f64", 1.0 - r)'
    ]  # fmt: skip


def test_special_numbers() -> None:
    special = "torch.tensor([float('nan'), float('inf'), -float('inf'), 0.0, -0.0, 1e38, -1e38, 1e-40])"
    lines = ["torch.relu(x)", "x.clamp(-1, 1)", "torch.maximum(x, 0 * x)", "F.gelu(x)", "F.softplus(x)", "F.elu(x)",
             "torch.sigmoid(x)", "F.leaky_relu(x)", "x.isinf() | x.isnan()", "x.sign()", "F.silu(x)",
             "F.mish(x)"]  # fmt: skip
    judge(reference(forward(several(lines)), f"[{special}]"))


def test_mish_takes_one_exponential() -> None:
    given = "torch.tensor([float('nan'), float('inf'), 1e38, 100, 20.5, 19.5, 3, 0, -0.0, -3, -20, -80, -1e38])"
    outcome = judge(reference(forward("(F.mish(x), torch.tanh(F.softplus(x, 2)))"), f"[{given}]"))
    text = outcome.sketches[0].text
    assert text.count("tanh(") == text.count("log1p(") + text.count("softplus(") == 1, "another softplus is left alone"


def test_neighbours_share_a_kernel() -> None:
    outcome = judge(reference(forward("(x.relu(), x * 2, (x * 2).sigmoid())"), "[torch.randn(40, 9)]"))
    assert outcome.kernels == (1,)
    assert outcome.sketches[0].text.count("load(") == 1


@pytest.mark.parametrize(
    "line", ["x.t() + 1", "(x.t() * 2).relu()", "x.t() + y", "x.t().contiguous() * 2", "x.t().relu().t()"]
)
def test_memory_order_is_eagers(line: str) -> None:
    judge(reference(forward(line, "x, y"), "[torch.randn(23, 19), torch.randn(19, 23)]"))


def test_a_number_in_the_place_of_a_tensor() -> None:
    line = "torch.vmap(lambda a: (a.sum() + 1e-3, a.sum() * 3, a.argmax() / 2))(x)"
    judge(reference(forward(line), "[torch.randn(3, 5)]"))


def test_channels_last_result() -> None:
    judge(reference(forward("x.permute(0, 3, 1, 2) * 2 + 1"), "[torch.randn(2, 5, 6, 7)]"))


def test_big_results_pass_the_caches() -> None:
    assert "stream=True" in designed(reference(forward("x + 1"), "[torch.randn(1 << 20)]"))
    assert "stream=True" not in designed(reference(forward("x + 1"), "[torch.randn(1 << 10)]"))
    inputs = "[torch.randn(1 << 12, 1 << 8), torch.randn(1 << 8, 3)]"
    read_again = forward("(lambda y: (y, y.flip(0) @ w))(x + 1)", "x, w")
    assert "stream=True" not in designed(reference(read_again, inputs))


def test_a_chain_may_be_longer_than_the_stack_of_python() -> None:
    turns = "[y := torch.sin(y) if i * i % 7 < 3 else y * (i % 5 + 0.5) - x for i in range(500)][-1]"
    assert designed(reference(forward(f"[y := x, {turns}][1]", "x"), "[torch.randn(3, 5)]")).count("sin(") == 357


def test_a_stencil_on_stencils_is_not_computed_again_at_every_place() -> None:
    lap = "p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u"
    turn = f"p = F.pad(u, (1, 1, 1, 1)); u = u + 0.1 * ({lap}).tanh()"
    body = f"    def forward(self, u):\n        for _ in range(3):\n            {turn}\n        return u"
    outcome = judge(reference(body, "[torch.randn(6, 9)]"))
    assert outcome.sketches[0].text.count("tanh(") < 10


def test_nor_for_a_sum_that_waits_for_nothing_but_what_is_read_at_first() -> None:
    turn = "u = u + s * sum(torch.roll(u, n, d) for n in (1, -1) for d in (0, 1)).tanh() * (2 + n)"
    body = f"    def forward(self, u):\n        s = 0.5 / u.max()\n        for n in range(6):\n            {turn}\n"
    outcome = judge(reference(f"{body}        return u, u.square().sum()", "[torch.randn(6, 9)]"))
    assert outcome.sketches[0].text.count("tanh(") < 40


def test_one_of_two_literals_is_as_exact_as_what_it_is_for() -> None:
    line = "x * torch.where(x > 0, torch.full_like(x, 0.7), torch.full_like(x, 0.1))"
    judge(reference(forward(line), "[torch.randn(5, 9, dtype=torch.float64)]"))


def test_equal_results_seen_otherwise_are_two_tensors() -> None:
    source = reference(
        forward("(torch.rot90(x, 1, (0, 1)), torch.fliplr(x), (x + 1).t(), x + 1)"), "[torch.randn(5, 9)]"
    )
    judge(source)
    (program,) = [line for line in designed(source).splitlines() if "return" in line]
    assert len({name.split("_view")[0] for name in program.removeprefix("    return ").split(", ")}) == 4
