"""Draws are reproducible, harder than the file's own, and keep what the values mean."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from akg_core.task.capture import capture
from akg_core.task.inputs import draws
from akg_core.task.inputs.patterns import EXACT, Deal
from akg_core.task.inputs.sizes import hidden_sizes
from akg_core.task.source import load
from tests.task.replay import reference_text

PLAIN = load.load_source(reference_text("return x", inputs="torch.rand(32, 64)"), "plain")
HARD = [kind for kind in draws.KINDS if kind not in ("drawn", "disturbed")]


def drawn(inputs: str, kind: str, seed: int = 5) -> torch.Tensor:
    return draws.inputs(load.load_source(reference_text("return x", inputs=inputs), "ref"), seed, kind)[0]


@pytest.mark.parametrize("kind", draws.KINDS)
def test_a_draw_is_a_function_of_its_seed(kind):
    first, again, other = (draws.inputs(PLAIN, seed, kind)[0] for seed in (3, 3, 4))
    assert first.equal(again) and not first.equal(other)
    assert first.shape == (32, 64) and first.dtype == torch.float32


def test_the_kinds_are_what_they_say():
    x = {kind: draws.inputs(PLAIN, 1, kind)[0] for kind in draws.KINDS}
    assert x["drawn"].equal(PLAIN.inputs(1)[0])
    assert (x["signed"] < 0).any() and 0.9 < x["signed"].std() < 1.1
    assert x["large"].abs().max() > 200
    assert x["small"].abs().max() < 1e-3
    assert (x["constant_rows"].std(1) == 0).float().mean() == 0.5
    assert (x["cancelling"].sum(1).abs() < 0.05 * x["cancelling"].abs().sum(1) + 1e-6).all()


@pytest.mark.parametrize("kind", HARD)
def test_meaning_is_kept(kind):
    assert drawn("torch.randint(0, 7, (40,))", kind).max() < 7
    assert drawn("torch.rand(9) > 0.5", kind).dtype == torch.bool
    labels = drawn("torch.randint(0, 2, (40,)).float() * 2 - 1", kind)
    assert set(labels.unique().tolist()) == {-1.0, 1.0}
    rows = drawn("torch.rand(8, 50).softmax(-1)", kind)
    assert (rows >= 0).all()
    torch.testing.assert_close(rows.sum(-1), torch.ones(8))
    assert drawn("torch.triu(torch.rand(16, 16))", kind).tril(-1).count_nonzero() == 0
    square = drawn("(lambda a: (a + a.T) / 2)(torch.rand(16, 16))", kind)
    assert square.equal(square.T)
    assert drawn("torch.rand(4, 4).half()", kind).dtype == torch.float16


def test_zeros_are_counted_in_pieces(monkeypatch):
    counted, count = [], torch.count_nonzero
    monkeypatch.setattr(draws, "_COUNTED", 100)
    monkeypatch.setattr(torch, "count_nonzero", lambda value: counted.append(value.numel()) or count(value))
    assert drawn("torch.triu(torch.rand(16, 16))", "large").tril(-1).count_nonzero() == 0
    assert not drawn("torch.rand(16, 16)", "large").eq(0).any()
    assert counted == [100, 100, 56] * 2


def test_a_disturbed_draw_has_one_row_turned():
    first, other = draws.inputs(PLAIN, 5)[0], draws.inputs(PLAIN, 5, "disturbed")[0]
    assert (first != other).any(1).sum() == 1 and first.sort(1).values.equal(other.sort(1).values)
    assert drawn("torch.triu(torch.rand(16, 16))", "disturbed").tril(-1).count_nonzero() == 0
    square = drawn("(lambda a: (a + a.T) / 2)(torch.rand(16, 16))", "disturbed")
    assert square.equal(square.T)
    bags = "torch.tensor([0, 3, 3, 11, 40])"
    assert drawn(bags, "disturbed").tolist() == [0, 3, 3, 11, 40], "where bags begin"
    assert drawn("torch.randn(9, 20)[:, 3:17:2]", "disturbed").stride() == (20, 2)


def test_numbers_vary_only_where_they_were_captured_as_numbers():
    reference = load.load_source(reference_text("return x * a", inputs="torch.rand(4), 2.0", arguments="x, a"), "ref")
    interface = capture(reference).interface
    assert draws.inputs(reference, 1, "signed")[1] == 2.0
    value = draws.inputs(reference, 1, "signed", interface)[1]
    assert value != 2.0 and 1.0 <= value <= 3.0


def test_finite():
    assert draws.finite([torch.ones(2), None, torch.tensor([1])])
    assert not draws.finite([torch.tensor([1.0, float("nan")])])


def test_hidden_sizes_stay_where_the_graph_holds():
    """A slice up to 5 of another dimension: what was traced says nothing of shorter ones."""
    task = capture(
        load.load_source(reference_text("return x[:, :5] + 1", inputs="torch.randn(6, 9)"), "ref"), dynamic=True
    )
    assert any("s1 >= 5" in note for note in task.notes)
    sizes = hidden_sizes(task)
    assert len(sizes) >= 3 and all(size["s1"] >= 5 for size in sizes)


def test_hidden_sizes_differ_and_run():
    source = reference_text(
        "return F.embedding(i, x)", inputs="torch.randn(50, 16), torch.randint(0, 3, (20,))", arguments="x, i"
    )
    reference = load.load_source(source, "ref")
    task = capture(reference, dynamic=True)
    sizes = hidden_sizes(task, seed=1)
    assert len(sizes) >= 3 and task.symbols not in sizes
    for symbols in sizes:
        x, i = draws.resized(reference, task.interface, symbols, seed=2)
        assert x.shape == (symbols["s0"], symbols["s1"]) and i.shape == (symbols["s2"],)
        assert reference.model()(x, i).shape == (symbols["s2"], symbols["s1"])
    assert hidden_sizes(capture(reference)) == []


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*(nn.Linear(128, 128) for _ in range(12)))
        self.norm = nn.BatchNorm1d(128)
        self.up = nn.ConvTranspose2d(16, 16, 4, stride=2)
        self.scale = nn.Parameter(torch.ones(8, 1, 1))
        self.tied = self.layers[0].weight

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


def test_redrawn_parameters_matter():
    torch.manual_seed(0)
    net = Net()
    state = draws.redraw_state(net, seed=7)
    assert all(state[k].equal(v) for k, v in draws.redraw_state(net, seed=7).items())
    assert state.keys() == net.state_dict().keys()
    x = torch.randn(64, 128)
    before = net(x).std(0).mean()
    net.load_state_dict(state)
    assert net(x).std() > 0.2 and net(x).std(0).mean() > 20 * before
    assert state["norm.weight"].std() > 0.1 and state["norm.bias"].std() > 0.1
    assert (state["norm.running_var"] > 0).all() and state["norm.running_var"].std() > 0.1
    assert state["norm.num_batches_tracked"] == 0
    assert state["scale"].std() > 0.05 and abs(state["scale"].mean() - 1) < 0.5
    assert state["tied"].equal(state["layers.0.weight"])
    image = torch.randn(2, 16, 20, 20)
    assert 0.7 < net.up(image).std() / image.std() < 2.5


def test_a_module_held_twice_is_redrawn_once() -> None:
    model = nn.Sequential()
    model.first = model.second = nn.Linear(5, 3)
    state = draws.redraw_state(model, 1)
    assert torch.equal(state["first.weight"], state["second.weight"])
    assert not torch.equal(state["first.weight"], model.first.weight)


LAYOUTS = {
    "transposed": "torch.randn(57, 33).t()",
    "channels last": "torch.randn(2, 6, 5, 4).contiguous(memory_format=torch.channels_last)",
    "expanded": "torch.randn(5, 1).expand(5, 7)",
    "expanded at the front": "torch.randn(7).expand(3, 5, 7)",
    "a slice": "torch.randn(9, 20)[:, 3:17:2]",
    "overlapping windows": "torch.randn(40).unfold(0, 8, 4)",
    "a scalar": "torch.randn(())",
}


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("name", LAYOUTS)
def test_the_layout_is_kept(name, kind):
    given, new = drawn(LAYOUTS[name], "drawn"), drawn(LAYOUTS[name], kind)
    assert new.shape == given.shape and new.stride() == given.stride()
    assert not new.equal(given)
    if name.startswith("expanded"):
        assert new.untyped_storage().nbytes() == 4 * (5 if name == "expanded" else 7)


def test_other_sizes_keep_the_order_in_memory():
    inputs = "torch.randn(6, 4, 5).permute(2, 0, 1), torch.randn(5, 1).expand(5, 7), torch.randn(3, 5)"
    reference = load.load_source(
        reference_text("return x + 1, y + 1, z + 1", inputs=inputs, arguments="x, y, z"), "ref"
    )
    task = capture(reference, dynamic=True)
    sizes = next(iter(hidden_sizes(task, seed=1)))
    x, y, z = draws.resized(reference, task.interface, sizes, seed=2)
    assert x.permute(1, 2, 0).is_contiguous() and not x.is_contiguous()
    assert y.stride()[-1] == 0 and z.is_contiguous()


def test_two_elements_of_each_parameter_change_places() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.LayerNorm(4))
    one, other = draws.redraw_state(model, 1), draws.redraw_state(model, 1, exchanged=2)
    for name, value in one.items():
        assert int((value != other[name]).sum()) == 2, name
        assert value.flatten().sort().values.equal(other[name].flatten().sort().values)
        assert value.flatten()[[0, -1]].equal(other[name].flatten()[[0, -1]])


def test_rows_that_are_probabilities_stay_so_and_some_are_zero_where_numbers_are_exact() -> None:
    (found,) = draws.harder([torch.randn(16, 9).softmax(1)], 3, draws.DEALT, deal=Deal((EXACT,)))
    assert draws.is_probabilities(found) and bool((found == 0).any()) and not bool((found == 0).all(1).any())
