"""Recurrent layers whose turns multiply their input beside the states: the weights of both stay near the cores."""

from __future__ import annotations

import pytest

from akg_core.records import Traits
from akg_core.sketch import ast
from akg_core.sketch.parse import parse
from akg_core.sketch.program import program_of
from tests.design.judging import SMALL, designed, judge, reference

NEAR = SMALL.model_copy(update={"block_bytes": 1 << 20, "units": 1, "on_chip_bytes": 1 << 20})


def layers(
    made: str, inputs: str = "torch.randn(6, 4, 5)", kept: str = "(y, *end) if isinstance(end, tuple) else y"
) -> str:
    body = f"""    def __init__(self):
        super().__init__()
        self.layers = nn.{made}

    def forward(self, x):
        y, end = self.layers(x)
        return {kept}"""
    return reference(body, f"[{inputs}]")


def products(source: str, traits: Traits = NEAR) -> tuple[int, int]:
    """How many launches before loops, and how many in their turns, multiply matrices, after the kernels were judged."""
    judge(source, traits=traits)
    file = parse(designed(source, traits))
    multiplying = {k.name for k in file.kernels if any(isinstance(n, ast.Call) and n.op == "dot" for n in ast.walk(k))}
    body = program_of(file).body
    launched = [n.kernel for n in ast.walk(body) if isinstance(n, ast.Launch) and n.kernel in multiplying]
    before = [n.kernel for n in body if isinstance(n, ast.Launch) and n.kernel in multiplying]
    return len(before), len(launched) - len(before)


@pytest.mark.parametrize(
    ("made", "inputs"),
    [
        ("LSTM(5, 64, num_layers=2)", "torch.randn(6, 4, 5)"),
        ("LSTM(5, 64, num_layers=2, batch_first=True)", "torch.randn(4, 6, 5)"),
        ("LSTM(5, 64, bidirectional=True)", "torch.randn(6, 4, 5)"),
        ("RNN(5, 64, num_layers=2, nonlinearity='relu')", "torch.randn(6, 24, 5)"),
    ],
)
def test_beside_the_states(made: str, inputs: str) -> None:
    before, turns = products(layers(made, inputs))
    assert before == 0
    assert turns >= 2


def test_with_a_projection() -> None:
    before, turns = products(layers("LSTM(5, 64, proj_size=8)"))
    assert (before, turns) == (0, 2)


def test_packed_sequences() -> None:
    body = """    def __init__(self):
        super().__init__()
        self.layers = nn.LSTM(5, 64, num_layers=2)

    def forward(self, x):
        lengths = torch.tensor([6, 4, 3, 1])
        y, (h, _) = self.layers(nn.utils.rnn.pack_padded_sequence(x, lengths))
        return nn.utils.rnn.pad_packed_sequence(y, total_length=6)[0], h"""
    assert products(reference(body, "[torch.randn(6, 4, 5)]"))[0] == 0


@pytest.mark.parametrize(
    ("made", "inputs", "traits"),
    [
        ("LSTM(5, 64)", "torch.randn(6, 3, 5)", NEAR),
        ("LSTM(5, 64)", "torch.randn(6, 25, 5)", NEAR),
        ("LSTM(5, 64, bias=False)", "torch.randn(6, 4, 5)", NEAR),
        ("GRU(5, 64)", "torch.randn(6, 4, 5)", NEAR),
        ("LSTM(5, 64)", "torch.randn(6, 4, 5)", NEAR.model_copy(update={"units": 2})),
        ("LSTM(5, 64)", "torch.randn(6, 4, 5)", NEAR.model_copy(update={"on_chip_bytes": 1 << 14})),
        ("LSTM(5, 64)", "torch.randn(6, 4, 5)", SMALL.model_copy(update={"units": 1, "on_chip_bytes": 1 << 20})),
    ],
    ids=["few rows", "many rows", "no bias", "parts that are not added", "few columns", "far weights", "other chips"],
)
def test_before_the_loop(made: str, inputs: str, traits: Traits) -> None:
    before, turns = products(layers(made, inputs), traits)
    assert before == 1
    assert turns >= 1


def test_rows_of_states_are_read_where_they_are() -> None:
    """The second layer's input: no kernel copies what the first leaves."""
    file = parse(designed(layers("LSTM(5, 64, num_layers=2)", kept="y"), NEAR))
    first, second = (node for node in program_of(file).body if isinstance(node, ast.Range))
    moved = [n for n in second.body if isinstance(n, ast.View) and n.op == "narrow"]
    whole = {n.args[0] for n in first.body if isinstance(n, ast.View) and n.op == "narrow"}
    assert any(n.args[0] in whole for n in moved)
