"""Reductions over any dims, in every form: near, tile by tile, split among programs."""

from __future__ import annotations

import pytest

from tests.design.judging import SMALL, USUAL, forward, judge, reference, several

FLOATS = [
    "x.sum({d})", "x.mean({d})", "x.amax({d})", "x.amin({d}, keepdim=True)", "x.var({d})", "x.std({d}, unbiased=False)",
    "torch.linalg.vector_norm(x, dim={d})", "torch.linalg.vector_norm(x, 3, dim={d})", "(x > 0).all({d})",
    "(x > 2).any({d})", "x.logsumexp({d})", "*torch.var_mean(x, {d})",
]  # fmt: skip
SCALARS = [
    "x.sum()", "x.mean()", "x.max()", "x.min()", "x.std()", "x.argmax()", "x.argmin()", "x.prod()", "x.norm()",
    "x.norm(1)", "x.norm(float('inf'))", "(x > 0).any()", "x.var(correction=0)", "x.abs().mean().sqrt() * 3",
]  # fmt: skip
PLACES = [
    "torch.argmax(x, 1)", "torch.argmin(x, -1, keepdim=True)", "*torch.max(x, 1)", "torch.min(x, 0, keepdim=True)[1]",
    "(x.mean(0, keepdim=True).sum(-1, keepdim=True) + x.mean(0, keepdim=True)).mean(0, keepdim=True)", "x[:1].var(0)",
    "x[:1].prod(0) + x[:1].norm(dim=0)",
    "*torch.var_mean(x[:0], 0), x[:0].std(0, keepdim=True)", "torch.argmax(x, 0)", "x.sum(1, keepdim=True)",
    "x.prod(1)", "x.sum((0, 1, 2), keepdim=True)",
]  # fmt: skip
INTEGERS = [
    "x.sum(1)", "x.float().mean(1)", "x.max(1)[0]", "x.amin(0)", "x.prod(1)", "x.sum()", "(x > 0).sum(1)",
    "x.sum(1, dtype=torch.float32)", "(x > 1).all(1)", "x.cumsum(1)",
]  # fmt: skip


@pytest.mark.parametrize("dims", ["0", "1", "-1", "(0, 2)", "(1, 2)", "(0, 1)"])
def test_over_dims(dims: str) -> None:
    judge(reference(forward(several(FLOATS).replace("{d}", dims)), "[torch.randn(5, 13, 9)]"))


@pytest.mark.parametrize("line", FLOATS[::3])
def test_alone(line: str) -> None:
    judge(reference(forward(line.replace("{d}", "1")), "[torch.randn(5, 13, 9)]"))


@pytest.mark.parametrize("shape", ["(3,)", "(40, 57)"])
def test_to_a_scalar(shape: str) -> None:
    judge(reference(forward(several(SCALARS)), f"[torch.randn{shape}]"))


@pytest.mark.parametrize("shape", ["(4, 150, 7)", "(3, 2, 200)"])
def test_with_places_and_kept_dims(shape: str) -> None:
    judge(reference(forward(several(PLACES)), f"[torch.randn{shape}]"))


@pytest.mark.parametrize("traits", [SMALL, USUAL])
def test_ties_and_nans_go_to_the_first(traits) -> None:
    line = "(x.argmax(1), x.argmin(1), *x.max(1), x.amin(1))"
    given = "torch.randint(0, 3, (6, 300)).float()"
    judge(reference(forward(line), f"[{given}]"), traits=traits)
    judge(
        reference(forward(line), "[torch.where(torch.rand(6, 300) < 0.02, float('nan'), torch.randn(6, 300))]"),
        traits=traits,
    )
    judge(reference(forward(line), "[torch.full((3, 200), -float('inf'))]"), traits=traits)


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "bool"])
def test_integers(dtype: str) -> None:
    lines = INTEGERS if dtype == "bool" else [*INTEGERS, "x.argmax(1)"]
    judge(reference(forward(several(lines)), f"[torch.randint(0, 4, (5, 90)).to(torch.{dtype})]"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_dtypes(dtype: str) -> None:
    lines = ["x.sum(1)", "x.mean(0)", "x.var(1)", "torch.softmax(x, 1)", "x.norm()", "x.max(0)[0]"]
    judge(reference(forward(several(lines)), f"[torch.randn(6, 150, dtype=torch.{dtype})]"))


@pytest.mark.parametrize(
    "line", ["torch.softmax(x, {d})", "torch.log_softmax(x, {d})", "x - x.logsumexp({d}, keepdim=True)"]
)
@pytest.mark.parametrize("dim", ["0", "1", "2"])
def test_softmax(line: str, dim: str) -> None:
    source = reference(forward(line.format(d=dim)), "[torch.randn(3, 70, 9)]")
    judge(source, traits=SMALL)
    assert judge(source, traits=USUAL).kernels[0] == 1


def test_softmax_of_infinities() -> None:
    masked = "torch.where(torch.rand(6, 300) < 0.7, -float('inf'), torch.randn(6, 300))"
    for given in (
        masked,
        f"{masked}[:, :200] * 1e4",
        "torch.full((2, 200), -float('inf'))",
        "torch.full((2, 200), 1e30)",
        "torch.cat([torch.full((2, 128), -float('inf')), torch.randn(2, 100)], 1)",
    ):
        judge(reference(forward("torch.softmax(x, 1)"), f"[{given}]"))


def test_long_sums_are_exact() -> None:
    judge(reference(forward("x.sum(1)"), "[torch.rand(2, 12000) + 1000]"))
    judge(reference(forward("x.var(1)"), "[torch.rand(2, 12000) + 1000]"))
    judge(reference(forward("x.var(0)"), "[torch.rand(2000, 8) * torch.arange(1, 9) + 1000]"))


def test_infinite_sums() -> None:
    judge(
        reference(
            forward("x.sum(1)"),
            "[torch.cat([torch.rand(3, 2000), torch.tensor([[float('inf')], [3e38], [-float('inf')]])], 1)]",
        )
    )
    judge(reference(forward("(x * 3e38).sum(1)"), "[torch.rand(3, 2000)]"))


def test_chained_reductions_share_a_kernel() -> None:
    source = reference(
        forward("(x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + 1e-5)"), "[torch.randn(9, 200)]"
    )
    assert judge(source).kernels[0] == 1
    source = reference(
        forward("torch.exp(x - x.amax(1, keepdim=True)) / torch.exp(x - x.amax(1, keepdim=True)).sum(1, keepdim=True)"),
        "[torch.randn(9, 200)]",
    )
    for traits in (SMALL, USUAL):
        assert judge(source, traits=traits).kernels[0] == 1


def test_reduction_then_reduction_over_other_dims() -> None:
    judge(reference(forward("x.mean(1).max(0)[0]"), "[torch.randn(9, 200)]"))
    judge(reference(forward("(x.sum(1) * 2).softmax(0)"), "[torch.randn(9, 200)]"))
    judge(reference(forward("((x - x.mean(0)) ** 2).sum(1)"), "[torch.randn(9, 200)]"))
    judge(reference(forward("x.softmax(1).sum(0)"), "[torch.randn(90, 20)]"))


@pytest.mark.parametrize("dim, shape", [(1, "(2, 541)"), (0, "(541, 3)")])
def test_few_rows_are_split(dim: int, shape: str) -> None:
    lines = ["x.softmax({d})", "x.var({d})", "x.argmax({d})", "*x.max({d})", "x.logsumexp({d})", "x.sum({d})",
             "(x - x.mean({d}, keepdim=True)) / x.std({d}, keepdim=True)"]  # fmt: skip
    outcome = judge(reference(forward(several(lines).replace("{d}", str(dim))), f"[torch.randn{shape}]"))
    assert outcome.kernels[0] > 1 and "begin(g)" in outcome.sketches[0].text
    for line in (lines[0], lines[2]):
        source = reference(forward(line.replace("{d}", str(dim))), f"[torch.randn{shape}]")
        assert judge(source).kernels[0] > 1


def test_of_constants_and_repeated_values() -> None:
    judge(reference(forward("(x * 0 + 1).sum(1) + torch.ones(5, 30).sum(1)"), "[torch.randn(5, 30)]"))
    judge(reference(forward("x[:, None].expand(5, 7).sum(1) + x[:, None].expand(5, 7).amax(1)"), "[torch.randn(5)]"))


def test_of_nothing() -> None:
    judge(reference(forward("x.sum(1) + x.prod(1)"), "[torch.randn(5, 0)]"))
    judge(reference(forward("x.mean(0)"), "[torch.randn(0, 4)]"))
    judge(reference(forward("x + 1"), "[torch.randn(0, 4)]"))
    judge(reference(forward("(x.sum(0), x.any(0))"), "[torch.randn(1, 4)]"))


def test_places_whose_merge_has_one_state() -> None:
    judge(reference(forward("x.min(0)"), "[torch.randn(64, 48)]"))


@pytest.mark.parametrize("name", ["total", "s0", "n", "x_1"])
def test_arguments_called_as_a_kernel_calls_its_own(name: str) -> None:
    line = f"({name} * 2).sum(1) / {name}.shape[0] + {name}.reshape(-1).sum()"
    judge(reference(forward(line, name), "[torch.randn(50, 70)]"), dynamic=True)


def test_sizes_that_no_tensor_of_a_kernel_has() -> None:
    line = "torch.cat([-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]], -1) * c"
    judge(reference(forward(line, "x, c"), "[torch.randn(2, 6, 4, 8), torch.randn(6, 8).view(6, 1, 8)]"), dynamic=True)
