"""Rows that a kernel makes for the turns of a loop: made for a block of turns at a time where caches hold no more."""

from __future__ import annotations

import pytest

from akg_core.sketch import ast
from akg_core.sketch.parse import parse
from akg_core.sketch.program import program_of
from tests.design.judging import SMALL, designed, judge, reference

BLOCKS = SMALL.model_copy(update={"block_bytes": 3100})


def layers(made: str, inputs: str = "torch.randn(24, 3, 5)") -> str:
    body = f"""    def __init__(self):
        super().__init__()
        self.layers = nn.{made}

    def forward(self, x):
        y, end = self.layers(x)
        return (y, *end) if isinstance(end, tuple) else (y, end)"""
    return reference(body, f"[{inputs}]")


def turns(text: str) -> list[tuple[int, ...]]:
    """How often each loop of the program turns, and the one within it."""

    def of(loop: ast.Range) -> tuple[int, ...]:
        assert isinstance(loop.stop, ast.Number)
        return (int(loop.stop.value), *(n for inner in loop.body if isinstance(inner, ast.Range) for n in of(inner)))

    return [of(node) for node in program_of(parse(text)).body if isinstance(node, ast.Range)]


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("LSTM(5, 8, num_layers=2)", [(3, 8), (3, 8)]),
        ("GRU(5, 8, num_layers=2)", [(3, 8), (3, 8)]),
        ("RNN(5, 32, bidirectional=True)", [(3, 8), (3, 8)]),
        ("LSTM(5, 8, num_layers=2, batch_first=True)", [(3, 8), (3, 8)]),
    ],
)
def test_in_blocks(made: str, found: list[tuple[int, ...]]) -> None:
    source = layers(made, "torch.randn(3, 24, 5)" if "batch_first" in made else "torch.randn(24, 3, 5)")
    judge(source, traits=BLOCKS)
    assert turns(designed(source, BLOCKS)) == found


@pytest.mark.parametrize(
    ("made", "inputs"),
    [("LSTM(5, 8)", "torch.randn(23, 3, 5)"), ("LSTM(5, 2)", "torch.randn(24, 3, 5)")],
    ids=["a prime number of turns", "little"],
)
def test_at_once(made: str, inputs: str) -> None:
    judge(layers(made, inputs), traits=BLOCKS)
    assert turns(designed(layers(made, inputs), BLOCKS)) == [(int(inputs[12:14]),)]


def test_what_others_read_too() -> None:
    body = """    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(5, 32)
        self.cell = nn.Linear(32, 32)

    def forward(self, x):
        given = self.inner(x)
        h = torch.zeros(3, 32)
        for t in range(24):
            h = torch.tanh(given[t] + self.cell(h))
        return h, given"""
    source = reference(body, "[torch.randn(24, 3, 5)]")
    judge(source, traits=BLOCKS)
    assert turns(designed(source, BLOCKS)) == [(24,)]
