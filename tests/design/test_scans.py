"""Running sums, products and extremes: along any dim, from both ends, with long rows shared by several programs."""

from __future__ import annotations

import pytest

from tests.design.judging import SMALL, USUAL, designed, forward, judge, reference

RUNNING = ["torch.cumsum(x, {0})", "torch.cumprod(x, {0})", "torch.cumsum(x.flip({0}), {0}).flip({0})"]
PLACES = ["torch.cummax(x, {0})", "torch.cummin(x, {0})"]
INPUTS = {
    "torch.randn(3, 70, 9)": (0, 1, 2), "torch.randn(700)": (0,), "torch.randint(-3, 4, (5, 77))": (0, 1),
    "torch.randn(5, 77).half()": (1,), "torch.randn(2, 5, 77).double()": (1,), "torch.randn(4, 9) > 0": (1,),
    "torch.randn(4, 1)": (1,),
}  # fmt: skip
CASES = [(line.format(dim), inputs) for inputs, dims in INPUTS.items() for dim in dims for line in (*RUNNING, *PLACES)]


@pytest.mark.parametrize(("line", "inputs"), CASES)
def test_scan(line: str, inputs: str) -> None:
    judge(reference(forward(line), f"[{inputs}]"), traits=SMALL)


@pytest.mark.parametrize(
    "line",
    [
        "torch.cat((torch.zeros_like(x.select(1, 0).unsqueeze(1)), x.narrow(1, 0, x.size(1) - 1).cumsum(1)), 1)",
        "torch.cumsum(x * (x > 0), 1) * 2 + x", "torch.cumsum(x.t(), 1).t()", "torch.cumsum(x, 1).flip(0, 1)",
        "torch.cumsum(x.softmax(1), 1)", "torch.cumsum(x, -1).sum(-1)", "torch.cumsum(torch.cumsum(x, -1), -2)",
        "torch.cummax(torch.where(x > 1.5, math.nan, x), 1)", "torch.cummin((x * 2).round(), 0)",
    ],
)  # fmt: skip
def test_scan_with_neighbours(line: str) -> None:
    judge(reference(forward(line), "[torch.randn(30, 70)]"), traits=SMALL)
    judge(reference(forward(line), "[torch.randn(30, 70)]"), traits=USUAL)


@pytest.mark.parametrize("line", [r.format(1) for r in (*RUNNING, *PLACES)])
def test_long_rows_are_shared(line: str) -> None:
    """With fewer rows than units: totals of chunks, their running totals, and the rows."""
    outcome = judge(reference(forward(line), "[torch.rand(1, 2000) + 0.5]"), traits=SMALL)
    assert max(outcome.kernels) == 3 * min(outcome.kernels)
    assert outcome.kernels[0] == max(outcome.kernels)


def test_backwards_is_one_pass() -> None:
    text = designed(reference(forward(RUNNING[2].format(1)), "[torch.randn(30, 7000)]"))
    assert text.count("@kernel") == 1
    assert "reverse=True" in text
    assert "load(x[m, n])" in text


def test_a_scan_down_the_columns_needs_no_transpose() -> None:
    text = designed(reference(forward("torch.cumsum(x, 0)"), "[torch.randn(300, 700)]"))
    assert text.count("@kernel") == 1


def test_a_scan_down_the_columns_takes_several_at_once_whatever_was_designed_before() -> None:
    task = reference(forward("torch.cumsum(x, 1)"), "[torch.randn(16, 512, 768)]")
    texts = {designed(task) for _ in range(2)}
    assert len(texts) == 1 and "grid(768, BP)" in texts.pop()


def test_products_of_a_tile_may_leave_the_range_of_the_result() -> None:
    """What came before is tiny: the product within a tile is beyond f32, the result is not."""
    rows = "torch.cat((torch.full((4, 64), 0.25), torch.full((4, 60), 16.0)), 1)"
    for traits in (SMALL, USUAL):
        held = traits.model_copy(update={"register_tiles": True})
        judge(reference(forward("torch.cumprod(x, 1)"), f"[{rows}]"), traits=held)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_running_logsumexp(dim: int) -> None:
    judge(reference(forward(f"torch.logcumsumexp(x * 9, {dim}) + 1"), "[torch.randn(3, 11, 6)]"), traits=SMALL)


def test_turns_of_one_elementwise_kernel_are_a_loop_inside_of_it() -> None:
    """Nothing of the program is launched turn after turn, and what a state was is no load."""
    text = designed(reference(forward("torch.logcumsumexp(x, 1)"), "[torch.randn(3, 11, 6)]"))
    kernels, program = text.split("@program")
    assert "for t in range(11):" in kernels and "range(" not in program


def test_running_logsumexp_of_numbers_far_apart() -> None:
    """Whatever is added to numbers that are far below the largest one is exact."""
    rows = "[-1e4, 3, 5, 1e4, -1e4, 0], [-math.inf, -1e30, -1000, -800, 0, 1e30], [1, math.inf, 0, math.nan, 0, 0]"
    judge(reference(forward("torch.logcumsumexp(x, 1)"), f"[torch.tensor([{rows}])]"))
