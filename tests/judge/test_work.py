"""What a task needs at least, read off its graph: never more than some implementation could do with."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

from akg_core.judge.reference import lower_bound
from akg_core.records import Task

MiB = 1 << 20


@pytest.fixture(scope="module")
def of(capture: Callable[..., Task]) -> Callable[..., Task]:
    def of(forward: str, *inputs: str, init: str = "pass") -> Task:
        source = f"""
            import torch
            from torch.nn import functional as F
            class Model(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    {init}
                def forward(self, {", ".join("xyz"[: len(inputs)])}):
                    return {forward}
            def get_inputs(): return [{", ".join(inputs)}]
            def get_init_inputs(): return []
        """
        return capture(dedent(source))

    return of


SQUARE = "torch.randn(512, 512)"


@pytest.mark.parametrize(
    ("forward", "inputs", "longest"),
    [
        ("x + 1", [SQUARE], 1),
        ("x.sum(1)", ["torch.randn(8, 100)"], 100),
        ("x.mean()", ["torch.randn(8, 100)"], 800),
        ("x.softmax(0)", ["torch.randn(8, 100)"], 8),
        ("F.layer_norm(x, (100,))", ["torch.randn(8, 100)"], 100),
        ("x @ y", ["torch.randn(8, 100)", "torch.randn(100, 5)"], 100),
        ("F.conv2d(x, y)", ["torch.randn(1, 4, 9, 9)", "torch.randn(6, 4, 3, 3)"], 36),
        ("x.cumsum(1)", ["torch.randn(8, 100)"], 100),
    ],
)
def test_longest_reductions(of: Callable[..., Task], forward: str, inputs: list[str], longest: int) -> None:
    assert lower_bound.longest_reduction(of(forward, *inputs)) == longest


def test_what_is_read_in_part_is_not_counted(of: Callable[..., Task]) -> None:
    assert lower_bound.read_whole(of("x.relu()", SQUARE)) == ["argument:x"]
    assert lower_bound.read_whole(of("x.t().reshape(-1) * 2", SQUARE)) == ["argument:x"]
    assert lower_bound.read_whole(of("x[:2] + 1", SQUARE)) == []
    assert lower_bound.read_whole(of("F.embedding(y, x)", SQUARE, "torch.randint(0, 9, (3,))")) == []


def test_bytes_that_are_written(of: Callable[..., Task]) -> None:
    assert lower_bound.bytes_written(of("x.relu()", SQUARE)) == MiB
    assert lower_bound.bytes_written(of("(x.relu(), x.sum())", SQUARE)) == MiB + 4
    assert lower_bound.bytes_written(of("x.t()", SQUARE)) == 0


def test_operations_are_counted_where_no_shortcut_exists(of: Callable[..., Task]) -> None:
    product = 2 * 512**3
    assert lower_bound.operations(of("x @ y", SQUARE, SQUARE)) == product
    assert lower_bound.operations(of("(x @ y.t()).relu() * 2", SQUARE, SQUARE)) == product
    assert lower_bound.operations(of("(x @ y).sum(1)", SQUARE, SQUARE)) == 0, "a sum of a product needs two small ones"
    assert lower_bound.operations(of("torch.diag(z) @ y", SQUARE, SQUARE, "torch.randn(512)")) == 0, (
        "rows are only scaled"
    )
    assert lower_bound.operations(of("(x @ y).tanh().sum(1)", SQUARE, SQUARE)) == product, "no sum goes through a tanh"
    assert lower_bound.operations(of("torch.softmax(x @ y.t(), -1) @ z", *[SQUARE] * 3)) == 2 * product
    assert lower_bound.operations(of("(x @ y) @ z", *[SQUARE] * 3)) == 0, "two products may be done in another order"
    assert lower_bound.operations(of("(x @ y).relu() @ z", *[SQUARE] * 3)) == product, "zeros need no multiplication"
    assert lower_bound.operations(of("(x @ y).tanh()[:2]", SQUARE, SQUARE)) == 0, "rows that nobody asks for"


def test_a_recurrent_layer_takes_effort_for_every_turn(of: Callable[..., Task]) -> None:
    def effort(steps: int, layers: int, faster: float = 1) -> float:
        layer = f"self.rnn = torch.nn.LSTM(16, 16, {layers}, batch_first=True)"
        return lower_bound.effort(of("self.rnn(x)[0]", f"torch.randn(2, {steps}, 16)", init=layer), faster)

    turn = effort(33, 1) - effort(32, 1)
    assert turn > lower_bound._CALLED
    assert effort(32, 3) - effort(32, 1) == pytest.approx(2 * 32 * turn, rel=0.01)
    assert effort(32, 1, 32) == pytest.approx(32 * effort(32, 1), rel=0.01), "where elements are free, calls are not"
