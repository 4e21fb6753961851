"""Recurrent layers: every kind in all its options, as loops of the program over few kernels."""

from __future__ import annotations

import pytest

from akg_core.sketch import ast
from akg_core.sketch.parse import parse
from akg_core.sketch.program import program_of, statements
from tests.design.judging import SMALL, USUAL, designed, judge, reference

MATRIX_UNITS = USUAL.model_copy(update={"half_tile": (64, 64, 32)})
TOGETHER = MATRIX_UNITS.model_copy(update={"register_tiles": True, "co_resident": 16, "tile_elements": 64})
LSTM_STATES = "torch.randn({0}, 3, {1}), torch.randn({0}, 3, 6)"


def layer(made: str, call: str = "self.layer(x)", inputs: str = "torch.randn(5, 3, 4)") -> str:
    """A reference of one layer, over five steps of three sequences."""
    names = ", ".join(("x", "h", "c")[: inputs.count("torch.")])
    body = f"""    def __init__(self):
        super().__init__()
        self.layer = nn.{made}

    def forward(self, {names}):
        y, end = {call}
        return (y, *end) if isinstance(end, tuple) else (y, end)"""
    return reference(body, f"[{inputs}]")


@pytest.mark.parametrize("kind", ["RNN(4, 6", "RNN(4, 6, nonlinearity='relu'", "LSTM(4, 6", "GRU(4, 6"])
@pytest.mark.parametrize(
    "options", ["", ", bias=False", ", num_layers=2", ", bidirectional=True", ", batch_first=True"]
)
def test_layer(kind: str, options: str) -> None:
    judge(layer(f"{kind}{options})"))


@pytest.mark.parametrize("kind", ["RNN(4, 6", "LSTM(4, 6", "GRU(4, 6"])
def test_all_options_together(kind: str) -> None:
    states = LSTM_STATES.format(4, 6) if "LSTM" in kind else "torch.randn(4, 3, 6)"
    call = "self.layer(x, (h, c))" if "LSTM" in kind else "self.layer(x, h)"
    made = f"{kind}, num_layers=2, bidirectional=True, batch_first=True)"
    judge(layer(made, call, f"torch.randn(3, 5, 4), {states}"), traits=USUAL)


@pytest.mark.parametrize("options", ["", ", bias=False", ", num_layers=2, bidirectional=True"])
def test_projected(options: str) -> None:
    count = 4 if "bid" in options else 1
    inputs = f"torch.randn(5, 3, 4), {LSTM_STATES.format(count, 2)}"
    judge(layer(f"LSTM(4, 6, proj_size=2{options})", "self.layer(x, (h, c))", inputs))


@pytest.mark.parametrize("made", ["LSTM(4, 6)", "GRU(4, 6, bidirectional=True)"])
@pytest.mark.parametrize("inputs", ["torch.randn(5, 4)", "torch.randn(1, 3, 4)", "torch.randn(5, 1, 4)"])
def test_without_a_batch_and_of_one(made: str, inputs: str) -> None:
    judge(layer(made, inputs=inputs))


@pytest.mark.parametrize("made", ["LSTM(1, 1)", "GRU(4, 1)", "RNN(1, 3)"])
def test_of_one_feature(made: str) -> None:
    judge(layer(made, inputs=f"torch.randn(5, 2, {made.split('(')[1][0]})"))


@pytest.mark.parametrize("made", ["LSTM(4, 6, dtype=torch.double)", "GRU(4, 6, num_layers=2, dtype=torch.double)"])
def test_double(made: str) -> None:
    judge(layer(made, inputs="torch.randn(5, 3, 4).double()"))


def test_among_other_operators() -> None:
    body = """    def __init__(self):
        super().__init__()
        self.into, self.layer, self.out = nn.Linear(4, 5), nn.GRU(5, 6, batch_first=True), nn.Linear(6, 3)

    def forward(self, x, lengths):
        y, _ = self.layer(torch.relu(self.into(x)))
        return torch.softmax(self.out(y[torch.arange(x.size(0)), lengths]), -1), y.mean(1)"""
    judge(reference(body, "[torch.randn(3, 7, 4), torch.tensor([6, 0, 3])]"))


@pytest.mark.parametrize("made", ["LSTM(4, 6, num_layers=2)", "GRU(4, 6, batch_first=True)", "RNN(4, 6)"])
def test_any_length(made: str) -> None:
    judge(layer(made), dynamic=True)


@pytest.mark.parametrize(("made", "most"), [("LSTM(4, 6)", 2), ("GRU(4, 6)", 2), ("RNN(4, 6)", 1)])
def test_a_turn_launches_few_kernels(made: str, most: int) -> None:
    tree = parse(designed(layer(made, inputs="torch.randn(500, 3, 4)"), USUAL))
    (loop,) = [node for node in statements(program_of(tree)) if isinstance(node, ast.Range)]
    assert loop.stop == ast.Number(500)
    assert sum(isinstance(node, ast.Launch) for node in loop.body) <= most


@pytest.mark.parametrize("made", ["LSTM(4, 6)", "GRU(4, 6)", "GRU(4, 6, bias=False)", "RNN(4, 6)", "LSTM(4, 1)"])
def test_a_turn_for_few_sequences_is_one_kernel_where_sums_cost_less_than_stores(made: str) -> None:
    source = layer(made)
    judge(source, traits=MATRIX_UNITS)
    loops = [n for n in statements(program_of(parse(designed(source, MATRIX_UNITS)))) if isinstance(n, ast.Range)]
    launches = [sum(isinstance(node, ast.Launch) for node in loop.body) for loop in loops]
    assert launches == ([] if made == "LSTM(4, 1)" else [1]), "of one hidden number each all turns are in one kernel"


@pytest.mark.parametrize(
    "made", ["LSTM(4, 12, num_layers=2, bidirectional=True)", "GRU(4, 12)", "GRU(4, 9, bias=False)", "RNN(4, 30)"]
)
@pytest.mark.parametrize("inputs", ["torch.randn(5, 3, 4)", "torch.randn(5, 1, 4)"])
def test_all_turns_are_one_launch_where_programs_may_wait_for_each_other(made: str, inputs: str) -> None:
    source = layer(made, inputs=inputs)
    judge(source, traits=TOGETHER)
    text = designed(source, TOGETHER)
    assert not [n for n in statements(program_of(parse(text))) if isinstance(n, ast.Range)]
    loops = [n for n in ast.walk(parse(text).kernels) if isinstance(n, ast.Range)]
    effects = [[s.call.op for s in n.body if isinstance(s, ast.Effect)] for n in loops]
    assert effects and all(each.count("barrier") == 1 for each in effects)
    assert "cooperative=True" in text


@pytest.mark.parametrize(
    "traits",
    [
        {"co_resident": 2},  # more programs than may wait for each other
        {"tile_elements": 2},  # weights that a program cannot hold
    ],
)
def test_turns_are_launched_where_programs_cannot_meet(traits: dict[str, int]) -> None:
    text = designed(layer("LSTM(4, 30)"), TOGETHER.model_copy(update=traits))
    assert "barrier" not in text and "for t in range(5)" in text


@pytest.mark.parametrize("dtype", ["half", "bfloat16", "double"])
@pytest.mark.parametrize("made", ["LSTM(4, 12)", "GRU(4, 10)"])
def test_programs_meet_in_any_precision(made: str, dtype: str) -> None:
    source = layer(f"{made[:-1]}, dtype=torch.{dtype})", inputs=f"torch.randn(5, 3, 4).{dtype}()")
    judge(source, traits=TOGETHER)
    assert "barrier" in designed(source, TOGETHER)


@pytest.mark.parametrize("made", ["LSTM(4, 12, num_layers=2)", "GRU(4, 9, batch_first=True)"])
def test_of_any_length_turns_are_launched(made: str) -> None:
    judge(layer(made), traits=TOGETHER, dynamic=True)


def test_a_program_keeps_its_weights_from_turn_to_turn() -> None:
    tree = parse(designed(layer("GRU(4, 12)"), TOGETHER))
    (loop,) = [n for n in ast.walk(tree.kernels) if isinstance(n, ast.Range)]
    assert "weight" not in {n.tensor for n in ast.walk(loop) if isinstance(n, ast.Element)}
    loaded = [n for n in ast.walk(tree.kernels) if isinstance(n, ast.Call) and n.op == "load"]
    assert sum("weight_0" in str(n.args[0]) for n in loaded) == 3, "a tile for each gate"


def test_weights_are_prepared_outside_of_the_loop() -> None:
    body = """    def __init__(self):
        super().__init__()
        self.layer = nn.GRU(4, 6)

    def forward(self, x):
        return self.layer(x)[0]"""
    tree = parse(designed(reference(body, "[torch.randn(9, 3, 4)]"), SMALL))
    (loop,) = [node for node in statements(program_of(tree)) if isinstance(node, ast.Range)]
    assert not any(isinstance(node, ast.Allocate) for node in loop.body)


def test_dropout_between_layers_keeps_all_in_eval() -> None:
    judge(layer("GRU(4, 6, num_layers=2, dropout=0.5).eval()"))
