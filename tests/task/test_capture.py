"""A captured graph computes what the reference does, and its record holds what a designer needs."""

from __future__ import annotations

import copy
import json

import pytest
import torch

from akg_core.errors import TaskError
from akg_core.records import Argument, Interface, Task
from akg_core.task.capture import capture, capture_file, capture_job
from akg_core.task.export.cases import cases_of, refusing
from akg_core.task.graph import resolve, size
from akg_core.task.source import load
from tests.task.interpreted import interpreted
from tests.task.replay import reference_text, replay

CASES = {
    "softmax": reference_text("return torch.softmax(x, -1)"),
    "numbers": reference_text("return x * a + b", inputs="torch.randn(4), 2.5, 0.25", arguments="x, a, b"),
    "half": reference_text("return x * a", inputs="torch.randn(4).half(), 3.0", arguments="x, a"),
    "bf16": reference_text("return x.sum(-1)", inputs="torch.randn(4, 9).bfloat16()"),
    "integers": reference_text("return x // 3 + n", inputs="torch.arange(9), 4", arguments="x, n"),
    "bools": reference_text("return x & (x > 0)", inputs="torch.tensor([True, False])"),
    "argmax": reference_text("return x.argmax(1), x.max(0).values"),
    "named_tuple": reference_text("return x.max(0)"),
    "dict": reference_text("return {'b': x + 1, 'a': x * 2}"),
    "list": reference_text("return [x + 1, x.detach(), x.t()]"),
    "gradient_of_relu": reference_text(
        "with torch.enable_grad():\n    y = x.detach().requires_grad_()\n"
        "    return torch.autograd.grad((y.relu() / y.clamp(min=0.8)).sum(), y)[0]"
    ),
    "forces": reference_text(
        "y = x.detach().requires_grad_()\ne = self.fc(y).tanh().sum()\nreturn e, -torch.autograd.grad(e, y)[0]",
        "self.fc = nn.Linear(6, 3)",
    ),
    "copies_of_views": reference_text(
        "return *torch.unbind_copy(x, 1), torch.narrow_copy(x, 1, 2, 3), torch.permute_copy(x, (1, 0)), torch.t_copy(x)"
    ),
    "none": reference_text("return x + 1, None"),
    "linear": reference_text("return torch.relu(self.fc(x))", "self.fc = nn.Linear(6, 3)"),
    "tied": reference_text("return self.b(self.a(x))", "self.a = nn.Linear(6, 6); self.b = self.a"),
    "attribute": reference_text("return x * self.mask", "self.mask = torch.tril(torch.ones(4, 6))"),
    "part": reference_text(
        "return x + self.list[0] + self.table",
        "self.list = [torch.ones(6)]\nself.register_buffer('table', torch.arange(6.0), persistent=False)",
    ),
    "named_as_in_graphs": reference_text(
        "self.graph += 1\nreturn x * self.code[1] + self.meta + self.graph + self.x0 + self.min",
        "self.meta = torch.ones(6)\nfor name in ('code', 'graph', 'x0', 'min'):\n"
        "    self.register_buffer(name, torch.arange(6.0))",
    ),
    "called_model": reference_text("return self.model(x)", "self.model = nn.Sequential(nn.Linear(6, 3))"),
    "vmap": reference_text(
        "return torch.vmap(lambda row, at: self.ln(row)[at])(x, at), torch.vmap(lambda c: c @ x, in_dims=1)(x)",
        "self.ln = nn.LayerNorm(6)",
        inputs="torch.randn(6, 6), torch.tensor([0, 5, 3, 3, -1, 2])",
        arguments="x, at",
    ),
    "transforms": reference_text(
        "energy = lambda row: (torch.tanh(self.fc(row)) * s).sum()\n"
        "return torch.vmap(torch.func.grad(energy))(x), torch.func.jacrev(torch.sin)(x[0])",
        "self.fc = nn.Linear(6, 3)",
        inputs="torch.randn(4, 6), 0.5",
        arguments="x, s",
    ),
    "gradient": reference_text("return torch.func.grad(lambda x: x.cumsum(1).logsumexp(1).sum())(x)"),
    "made": reference_text("return x * torch.tensor([1.0, 2, 3, 4, 5, 6]) + torch.tensor(2.0)"),
    "grad_modes": reference_text("with torch.no_grad():\n    y = x + 1\nreturn y * 2"),
    "in_place": reference_text("y = x.clone()\ny += 1\ny[0] = 0\nreturn F.relu(y, inplace=True)"),
    "batch_norm": reference_text("return self.bn(x)", "self.bn = nn.BatchNorm1d(6)"),
    "layer_norm": reference_text("return self.ln(x)", "self.ln = nn.LayerNorm(6)"),
    "attention": reference_text("return F.scaled_dot_product_attention(x, x, x)", inputs="torch.randn(2, 3, 5, 4)"),
    "losses": reference_text(
        "return F.cross_entropy(x, y)", inputs="torch.randn(4, 6), torch.randint(0, 6, (4,))", arguments="x, y"
    ),
    "defaults": reference_text("return x + k", arguments="x, k=2"),
    "variadic": reference_text("return torch.cat(xs)", arguments="*xs", inputs="torch.ones(2), torch.ones(3)"),
    "convolution": reference_text(
        "return self.c(x)", "self.c = nn.Conv2d(3, 8, 3, padding=1)", inputs="torch.randn(2, 3, 9, 7)"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_graph_computes_what_the_reference_does(name):
    reference = load.load_source(CASES[name], name)
    task = capture(reference)
    model, inputs = reference.model(seed=1), reference.inputs(seed=2)
    other = copy.deepcopy(model)
    with torch.no_grad():
        outputs, held = replay(task, other, copy.deepcopy(inputs))
        expected = torch.utils._pytree.tree_leaves(model(*copy.deepcopy(inputs)))
    assert len(outputs) == len(expected)
    for got, want in zip(outputs, expected, strict=True):
        if want is None:
            assert got is None
        else:
            torch.testing.assert_close(got, want)
    for key, value in held.items():
        torch.testing.assert_close(value, model.state_dict()[key])
    assert Task.model_validate(json.loads(json.dumps(task.model_dump(mode="json")))).graph.outputs == task.graph.outputs
    assert Task.model_validate_json(task.model_dump_json()) == Task.model_validate(task.model_dump(mode="json"))


def captured(name: str, **options) -> Task:
    return capture(load.load_source(CASES[name], name), **options)


def test_floats_become_numbers_and_the_rest_constants():
    assert [(a.name, a.kind, a.value) for a in captured("numbers").interface.arguments] == [
        ("x", "tensor", None),
        ("a", "number", 2.5),
        ("b", "number", 0.25),
    ]
    assert [(a.kind, a.value) for a in captured("integers").interface.arguments] == [("tensor", None), ("constant", 4)]


@pytest.mark.parametrize(
    "source",
    [
        reference_text("return F.leaky_relu(x, a)", inputs="torch.randn(4), 0.1", arguments="x, a"),
        reference_text("return x * a", inputs="torch.arange(4), 2.5", arguments="x, a"),
    ],
)
def test_a_float_that_cannot_be_a_tensor_is_a_constant_and_said(source):
    task = capture(load.load_source(source, "ref"))
    assert task.interface.arguments[1].kind == "constant"
    assert any("fixed to" in note for note in task.notes)


def test_packing():
    assert captured("dict").interface.packing == "dict" and captured("dict").interface.keys == ("b", "a")
    assert captured("list").interface.packing == "list"
    assert captured("named_tuple").interface.packing == "tuple"
    assert captured("none").interface.packing == "tuple" and captured("none").graph.outputs[1] is None
    assert captured("softmax").interface.packing == "tensor"


def test_collections_in_collections():
    source = reference_text("return x, (x + 1, [x * 2], {'a': None}), torch.max(x, 0)")
    interface = capture(load.load_source(source, "ref")).interface
    pair, found = interface.parts[1], interface.parts[2]
    assert [part.packing for part in interface.parts] == ["tensor", "tuple", "tuple"]
    assert [part.packing for part in pair.parts] == ["tensor", "list", "dict"] and pair.parts[2].keys == ("a",)
    assert [part.packing for part in pair.parts[2].parts] == ["constant"]
    assert found.named == "torch.return_types.max"


def test_training_updates_buffers_and_eval_does_not():
    training, evaluated = captured("batch_norm"), captured("batch_norm", eval=True)
    assert set(training.graph.mutations) == {"bn.running_mean", "bn.running_var", "bn.num_batches_tracked"}
    assert {p.name for p in training.interface.parameters if p.mutated} == set(training.graph.mutations)
    assert training.training and not evaluated.training
    assert not evaluated.graph.mutations
    assert any("updates bn.running_mean" in note for note in training.notes)


def test_of_many_buffers_that_forward_updates_the_rest_is_counted():
    init = "self.norms = nn.Sequential(*(nn.BatchNorm1d(8) for _ in range(4)))"
    text = reference_text("return self.norms(x)", init, "torch.randn(4, 8)")
    (note,) = (note for note in capture(load.load_source(text, "ref")).notes if "updates" in note)
    assert note.count("norms.") == 6 and note.endswith(", and 6 others.")


def test_parameters_have_qualified_names_and_kinds():
    task = captured("part")
    assert {(p.name, p.kind) for p in task.interface.parameters} == {("table", "buffer")}
    assert [n.op for n in task.graph.nodes if n.name.startswith("c_")] == ["aten.full.default"]
    assert captured("attribute").interface.parameters[0].kind == "constant"
    assert [p.name for p in captured("linear").interface.parameters] == ["fc.weight", "fc.bias"]
    assert [p.name for p in captured("called_model").interface.parameters] == ["model.0.weight", "model.0.bias"]


def test_arguments_follow_the_schema_with_defaults_and_places():
    (node,) = capture(load.load_source(reference_text("return x.sum(0)"), "ref")).graph.nodes
    assert node.op == "aten.sum.dim_IntList"
    assert node.args == ("%x", [0], False)
    assert node.kwargs == {"dtype": None}
    assert node.where == "line 11"
    assert captured("linear").graph.nodes[0].where == "fc, line 12"


def test_outputs_have_the_strides_of_the_reference():
    node = capture(load.load_source(reference_text("return (x + 1).t() * 2"), "ref")).graph.nodes[-1]
    assert node.shapes[0] == (6, 4) and node.strides[0] == (1, 6)


def test_randomness_is_noted():
    dropout = capture(load.load_source(reference_text("return F.dropout(x, 0.3)"), "ref"))
    assert any("random numbers with F.dropout" in note for note in dropout.notes)


def test_named_tuples_of_pytorch_keep_their_type():
    interface = capture(load.load_source(reference_text("return x.min(0)"), "ref")).interface
    assert (interface.packing, interface.named) == ("tuple", "torch.return_types.min")
    assert capture(load.load_source(reference_text("return x + 1, x"), "ref")).interface.named == ""


def test_a_type_of_ones_own_is_refused_by_name():
    made = "import collections; return collections.namedtuple('Pair', 'a b')(x + 1, x)"
    data = "import dataclasses; return dataclasses.make_dataclass('Pair', ['a', 'b'])(x + 1, x)"
    with pytest.raises(TaskError, match="forward returns a Pair, a type of its own"):
        capture(load.load_source(reference_text(data), "ref"))
    with pytest.raises(TaskError, match="forward returns a Pair") as refused:
        capture(load.load_source(reference_text(made), "ref"))
    assert "plain tuple" in refused.value.cure


def test_capture_computes_nothing():
    source = reference_text("return torch.softmax(self.fc(x), -1)", "self.fc = nn.Linear(1 << 20, 1 << 20)",
                            inputs="torch.randn(1 << 20, 1 << 20)")  # fmt: skip
    task = capture(load.load_source(source, "ref"))  # 4 TiB each, were they made
    assert task.interface.arguments[0].shape == (1 << 20, 1 << 20)


def test_a_constructor_that_looks_at_values_is_run_for_real():
    source = reference_text("return x * self.s", "self.s = torch.linspace(0, 1, 3).tolist()[1]")
    assert "0.5" in str(capture(load.load_source(source, "ref")).graph.nodes[0].args)


def test_a_generator_that_looks_at_values_is_run_for_real():
    inputs = "torch.randn(len(torch.rand(5).tolist()), 6)"
    task = capture(load.load_source(reference_text("return self.fc(x)", "self.fc = nn.Linear(6, 3)", inputs), "ref"))
    assert task.interface.arguments[0].shape == (5, 6)


def test_inputs_made_for_real_have_sizes_that_are_numbers():
    inputs = "torch.randn(len(torch.rand(3).tolist()), 6, 5, 5)"
    node = capture(load.load_source(reference_text("return F.group_norm(x, 2)", inputs=inputs), "ref")).graph.nodes[-1]
    assert node.strides[0] == (150, 25, 5, 1) and all(type(stride) is int for stride in node.strides[0])


def test_state_kept_in_a_plain_attribute_is_updated():
    source = reference_text("self.h = self.h + x\nreturn self.h * 2", "self.h = torch.zeros(4, 6)")
    task = capture(load.load_source(source, "ref"))
    (parameter,) = task.interface.parameters
    assert (parameter.name, parameter.kind, parameter.mutated) == ("h", "constant", True)
    assert task.graph.mutations.keys() == {"h"}


def test_state_of_another_shape_is_refused():
    source = reference_text("self.h = x.sum(0)\nreturn self.h", "self.h = torch.zeros(4, 6)")
    with pytest.raises(Exception, match="replaces the module's attribute h by a tensor of another shape"):
        capture(load.load_source(source, "ref"))


@pytest.mark.parametrize("layer", ["LSTM", "GRU", "RNN"])
def test_a_recurrent_layer_is_one_operator(layer):
    source = reference_text("return self.layer(x)[0]", f"self.layer = nn.{layer}(6, 3)", "torch.randn(100_000, 2, 6)")
    task = capture(load.load_source(source, "ref"))  # 100 000 steps, were they run
    *states, operator = task.graph.nodes  # the states before the first step are zeros
    assert {node.op for node in states} == {"aten.full.default"}
    assert operator.op == f"aten.{layer.lower()}{'_tanh' * (layer == 'RNN')}.input"
    assert operator.shapes[0] == (100_000, 2, 3)


def test_rows_of_padding_hold_the_same_with_gradients_and_without():
    made = "self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8, 0.0, batch_first=True), 1).eval()"
    masked = "return self.encoder(x[None], src_key_padding_mask=torch.arange(4)[None] > 2)"
    module = load.load_source(reference_text(masked, made), "ref")
    model, inputs = module.Model(), module.get_inputs()
    with torch.no_grad():
        torch.testing.assert_close(model(*inputs), model.requires_grad_(False)(*inputs))
        assert model(*inputs)[0, 3].all()


# --- sizes that vary -------------------------------------------------------------------------------------

DYNAMIC = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 8)

    def forward(self, x, y):
        return self.fc(x).reshape(x.shape[0] * 2, -1), torch.cat([x, y]) / x.shape[0] ** 0.5


def get_inputs_dyn_list():
    return [[torch.randn(n, 16), torch.randn(m, 16)] for n, m in ((12, 7), (5, 9))]


def get_init_inputs():
    return []
"""


def test_sizes_that_differ_between_the_files_inputs_are_symbols():
    reference = load.load_source(DYNAMIC, "ref")
    task = capture(reference)
    assert [a.shape for a in task.interface.arguments] == [("s0", 16), ("s1", 16)]
    assert task.symbols == {"s0": 12, "s1": 7} and task.cases == ({"s0": 12, "s1": 7}, {"s0": 5, "s1": 9})
    model = reference.model()
    for n, m in ((12, 7), (5, 9), (3, 2)):
        inputs = [torch.randn(n, 16), torch.randn(m, 16)]
        outputs, _ = replay(task, model, inputs, {"s0": n, "s1": m})
        for got, want in zip(outputs, model(*inputs), strict=True):
            torch.testing.assert_close(got, want)


def test_cases_that_a_kernel_refuses_are_counted():
    x = Argument(name="x", kind="tensor", dtype="f32", shape=("s0", 4))
    arguments = x, Argument(name="dim", kind="constant", value=1)
    shapes = [((12, 4), 1), ((5, 4), 1), ((12, 4), 1), ((12, 3), 1), ((12, 4), 0), ((0, 4), 1)]
    entries = [(torch.empty(shape), dim) for shape, dim in shapes]
    cases, refused = cases_of(entries, {"s0": 12}, Interface(arguments=arguments, guards=("s0 >= 8",)))
    assert cases == ({"s0": 12}, {"s0": 5}, {"s0": 0}) and refused == (1, 3, 4, 5)
    assert refusing(4, 6) == ("Of 6 cases that get_inputs_dyn_list has, it refuses 4.",) and refusing(0, 6) == ()


def test_dynamic_lets_every_size_vary_that_may():
    task = captured("linear", dynamic=True)
    assert task.interface.arguments[0].shape == ("s0", 6)
    assert any("Dimension 1 of x stays 6" in note for note in task.notes)
    assert captured("softmax", dynamic=True).graph.nodes[-1].shapes == (("s0", "s1"),)


def test_where_no_size_may_vary_they_are_kept_and_it_is_said():
    source = reference_text("n = 0\nfor i in range(x.shape[0]):\n    n = n + x[i]\nreturn n")
    task = capture(load.load_source(source, "ref"), dynamic=True)
    assert task.interface.arguments[0].shape[0] == 4
    assert task.notes


def test_the_worker_job_gives_json_and_says_the_scale(tmp_path):
    path = tmp_path / "ref.py"
    path.write_text("N = 4096\n" + CASES["softmax"].replace("4, 6", "N, 6"))
    task = Task.model_validate(json.loads(json.dumps(capture_job({"path": str(path), "scale": 0.25}))))
    assert task.interface.arguments[0].shape == (1024, 6)
    assert task.scale == 0.25 and "N 4096 -> 1024" in task.notes[0]
    assert capture_file(path).interface.arguments[0].shape == (4096, 6)


def test_outputs_of_varying_sizes_lie_as_in_eager():
    """Attention is traced with its heads innermost, which a reshape in eager makes dense."""
    source = reference_text(
        "return F.scaled_dot_product_attention(x, x, x).transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)",
        inputs="torch.randn(2, 3, 8, 4)",
    )
    task = capture(load.load_source(source, "ref"), dynamic=True)
    assert task.symbols
    (output,) = task.graph.outputs
    name, result = resolve(output)
    node = next(node for node in task.graph.nodes if node.name == name)
    assert [size(stride, task.symbols) for stride in node.strides[result]] == [8 * 12, 12, 1]


def test_a_weight_that_is_made_anew_in_the_memory_of_a_parameter(tmp_path):
    source = reference_text("return self.layer(x)", init="self.layer = nn.utils.spectral_norm(nn.Linear(6, 3))")
    reference, task, module = interpreted(source, tmp_path)
    assert {p.name for p in task.interface.parameters if p.mutated} >= {"layer.weight_u", "layer.weight_v"}
    old, new = reference.model(), module.ModelNew()
    new.load_state_dict(old.state_dict())
    for seed in range(2):
        x = reference.inputs(seed)
        with torch.no_grad():
            torch.testing.assert_close(new(*x), old(*x), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(new.state_dict(), old.state_dict(), rtol=1e-4, atol=1e-5)
