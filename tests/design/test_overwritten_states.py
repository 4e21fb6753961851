"""States of a loop that its turns overwrite: one row of memory where nothing needs what they were."""

from __future__ import annotations

import pytest

from akg_core.sketch import ast
from akg_core.sketch.parse import parse
from tests.design.judging import SMALL, designed, judge, reference

LAYERS = """    def __init__(self):
        super().__init__()
        self.layers = nn.{made}

    def forward(self, x, *given):
        y, end = self.layers(x, given or None)
        return {kept}"""


def source(made: str, inputs: str = "[torch.randn(12, 3, 5)]", kept: str = "y") -> str:
    return reference(LAYERS.format(made=made, kept=kept), inputs)


def overwritten(text: str) -> list[tuple[int, ...]]:
    """The dims of what kernels both read and write, after the kernels were judged."""
    judge(text)
    kernels = parse(designed(text, SMALL)).kernels
    found = [t.dims for kernel in kernels for t in kernel.tensors if t.role == "InOut"]
    return [tuple(int(n.value) for n in dims if isinstance(n, ast.Number)) for dims in found]


@pytest.mark.parametrize(
    "options", ["", ", bidirectional=True", ", num_layers=2", ", proj_size=4", ", batch_first=True"]
)
def test_cells(options: str) -> None:
    """Those of the direction from the end begin in the last row."""
    batch = 12 if "batch_first" in options else 3
    assert overwritten(source(f"LSTM(5, 8{options})")) == [(batch, 8)]


def test_cells_that_begin_as_told() -> None:
    inputs = "[torch.randn(12, 3, 5), torch.randn(1, 3, 8), torch.randn(1, 3, 8)]"
    assert overwritten(source("LSTM(5, 8)", inputs)) == [(3, 8)]


def test_cells_that_are_given_back() -> None:
    assert overwritten(source("LSTM(5, 8)", kept="y, end[1]")) == []


@pytest.mark.parametrize("made", ["GRU(5, 8)", "RNN(5, 8)"])
def test_what_all_turns_leave_is_an_output(made: str) -> None:
    assert overwritten(source(made)) == []
