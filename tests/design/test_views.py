"""Views, joining, padding, gathers; what of them is free and what is stored."""

from __future__ import annotations

import pytest

from akg_core.errors import UnsupportedOperator
from tests.design.judging import forward, judge, reference, several

FREE = [
    "x.t()", "x.reshape(-1)", "x[1:4]", "x[:, 2:5]", "x[:, 3]", "x.unsqueeze(1)", "x[:, None].expand(9, 4, 12)", "x",
    "x[2:3, ::1].t()", "x.view(3, 3, 12)[1]", "x.diagonal()", "x.diagonal(2)", "x[:, 1:9].diagonal(1)",
    "x.t()[2:].diagonal()",
    "x.view(3, 3, 12)[:, :, ::2].diagonal(0, 1, 2)", "x.view(3, 3, 12)[..., 4:].permute(2, 0, 1).diagonal(0, 1, 2)",
    "x.view(3, 3, 12).diagonal(-1, 0, 1)",
    "x.unfold(1, 3, 2)", "x.t().unfold(1, 2, 1)", "torch.einsum('bii->bi', x[:, :9].reshape(9, 3, 3))",
]  # fmt: skip
LOOKING = [
    "x.sum().flip(0)", "x.flip(0)", "x.flip(0, 1) * 2", "x[:, ::2] + 1", "x.roll(3, 1)", "x.roll((1, 2), (0, 1))",
    "x.repeat(2, 3)",
    "torch.complex(x, x + 1).conj().imag",
    "x.diagonal() * 2", "x.t().contiguous()", "x.t().reshape(-1) + 1", "x.repeat_interleave(2, 0)",
    "x.view(3, 3, 12).permute(2, 0, 1).reshape(12, 9) - 1", "x.unflatten(1, (3, 4)).sum(1)", "torch.tile(x, (2, 1))",
    "x.swapaxes(0, 1).softmax(0)", "torch.movedim(x.view(3, 3, 12), 0, 2) * 1.0", "x.view(3, 3, 12).mean(1)",
    "x.reshape(3, 36).softmax(1).reshape(9, 12)", "x.reshape(27, 4).sum(1).reshape(9, 3)", "x.reshape(4, 27).amax(0)",
    "torch.narrow(x, 1, 2, 5) + 1", "x.chunk(3, 1)[1] * x.chunk(3, 1)[2]", "torch.split(x, [2, 3, 7], 1)[1].relu()",
    "x.unbind(1)[3] * 2",
]  # fmt: skip
JOINING = [
    "F.pad(x, (1, 2))", "F.pad(x, (1, 2, 3, 0), value=5.0) * 2", "F.pad(x, (-1, 2))", "torch.cat([x, x * 2], 0)",
    "torch.cat([x, x[:, :3], x.relu()], 1)", "torch.cat([torch.cat([x, -x], 1), torch.cat([x.relu(), x], 1)], 0)",
    "torch.block_diag(x, x[0])", "torch.cat([torch.cat([x, x], 1).exp(), torch.cat([x, x * 2], 1)], 0).sum(1)",
    "torch.stack([x, x + 1], 1)", "torch.stack([x, -x], -1)",
    "torch.cat([x, x], 0).sum(0)", "torch.cat([x.sum(0), x.amax(0)])", "torch.cat([x[0], x[1] * 2]).relu()",
    "torch.hstack([x, x]) @ torch.ones(24, 3)", "torch.cat([torch.zeros(0), x[0]])", "x.new_zeros(3).add(x[0, 0])",
    "F.pad(x, (0, 1))[:, 12] + x[:, 0]", "torch.vander(x[0, :5])", "x.data * 2", "x.view(torch.int32)",
    "x.double().view(torch.int64) + 1", "(x.view(torch.int32) ^ 1).view(torch.float32) * 2",
    "x.double().view(torch.int64).view(torch.float64).neg()", "x.as_strided((4, 5), (2, 3), 1) * 2",
]  # fmt: skip
COUNTING = [
    "torch.where(torch.arange(12) < 5, x, 0.0)", "x + torch.arange(9)[:, None]", "torch.arange(12) * x",
    "torch.tril(x)",
    "torch.triu(x, 1)", "torch.eye(12)[:9] * x", "torch.full((9, 12), 2.5) * x", "torch.linspace(0, 1, 12) + x",
    "torch.arange(0, 1.2, 0.1)[:12] + x", "torch.ones(3, 4)", "torch.arange(3, 20, 2)",
]  # fmt: skip
GATHERS = [
    "torch.gather(x, 1, i % 12)", "torch.gather(x, 0, i % 9)", "F.embedding(i[:, 0] % 9, x)", "x[i[:, 0] % 9]",
    "x[i[:, 0] % 9 - 4]", "x[i[0] % 9, i[1] % 12]", "torch.index_select(x, 1, i[0] % 12) + 1", "F.one_hot(i % 5, 5)",
    "F.embedding(i % 9, x).mean(1)", "x[:, i[0] % 12].softmax(1)", "torch.take_along_dim(x[:7], i % 12, 1)",
    "F.embedding(i % 9, x).relu().sum(2)",
]  # fmt: skip
RUNNING = [
    "x.cumsum(1)", "x.cumsum(0)", "x.cumprod(2)", "x.flip(1).cumsum(1).flip(1)", "(x * (x > 1)).cumsum(2) * 2",
    "x.cumsum(1).sum(2)", "torch.cat([torch.zeros_like(x.narrow(1, 0, 1)), x.cumsum(1)[:, :-1]], 1)",
    "x.cumsum(-1) + x",
]  # fmt: skip


def test_free_views_take_no_kernel() -> None:
    assert judge(reference(forward(several(FREE)), "[torch.randn(9, 12)]")).kernels == (0,)


def test_dims_in_front_take_no_kernel() -> None:
    assert judge(reference(forward("(torch.broadcast_to(x, (2, 3, 7)), [x.t()])"), "[torch.randn(3, 7)]")).kernels == (
        0,
    )


@pytest.mark.parametrize("line", ["x", "x.t()", "x[::2, 3:10]", "x[1::3, ::2].t()", "x.view(12, 9)[::5]"])
def test_views_with_steps_take_no_kernel(line: str) -> None:
    assert judge(reference(forward(line), "[torch.randn(9, 12)]")).kernels == (0,)


def test_what_is_no_view_is_in_memory_of_its_own() -> None:
    lines = [
        "x.cumsum(0)",
        "x.sum(0)",
        "x.amax(0)",
        "x.flip(0)",
        "torch.cat([x])",
        "x.repeat(1, 1)",
        "x[:, 2:5].prod(0)",
    ]
    sketch = judge(reference(forward(several(lines)), "[torch.randn(1, 12)]")).sketches[0]
    assert sketch.text.count("store(") == len(lines)


def test_equal_results_of_two_operators_are_two_tensors() -> None:
    judged = judge(reference(forward("(y := x.sin()), x.sin(), y, y.view(-1), y.clone()"), "[torch.randn(4, 6)]"))
    (returned,) = [line for line in judged.sketches[0].text.splitlines() if line.strip().startswith("return ")]
    first, second, again, _, clone = returned.strip().removeprefix("return ").split(", ")
    assert first == again and len({first, second, clone}) == 3


def test_tensors_without_elements() -> None:
    lines = [
        "x * 2",
        "x.sum(0)",
        "x.sum(1)",
        "y + 1",
        "torch.cat([x, y[:0]])",
        "torch.cat([x, y])",
        "y[2:2]",
        "y[5:5]",
        "x @ y.t()",
    ]
    judge(reference(forward(several(lines), "x, y"), "[torch.randn(0, 12), torch.randn(4, 12)]"))


@pytest.mark.parametrize("lines", [LOOKING[::2], LOOKING[1::2], JOINING, COUNTING])
def test_moving(lines: list[str]) -> None:
    judge(reference(forward(several(lines)), "[torch.randn(9, 12)]"))


@pytest.mark.parametrize("line", ["x.t().contiguous()", "torch.cat([x, x * 2], 1)", "F.pad(x, (1, 2))", "x.flip(1)"])
def test_one_kernel(line: str) -> None:
    assert judge(reference(forward(line), "[torch.randn(9, 12)]")).kernels == (1,)


def test_gathers() -> None:
    judge(reference(forward(several(GATHERS), "x, i"), "[torch.randn(9, 12), torch.randint(0, 99, (7, 4))]"))


def test_running() -> None:
    judge(reference(forward(several(RUNNING)), "[torch.rand(3, 70, 5) + 0.5]"))
    judge(reference(forward("x.cumsum(1)"), "[torch.rand(3, 70)]"))


@pytest.mark.parametrize(
    "line, name, cure",
    [("torch.special.bessel_j0(x)", "bessel_j0", "--sketch"), ("torch.poisson(x.abs())", "poisson", "get_inputs")],
)
def test_what_has_no_rule_is_named(line: str, name: str, cure: str) -> None:
    with pytest.raises(UnsupportedOperator, match=name) as raised:
        judge(reference(forward(line), "[torch.randn(9, 12)]"))
    assert "line 9" in raised.value.message and cure in raised.value.cure
