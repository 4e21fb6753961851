"""Questions to a captured graph."""

from __future__ import annotations

import pytest

from akg_core.task.capture import capture
from akg_core.task.graph import GraphIndex, evaluate, is_reference, reference, references, resolve, size, sums
from akg_core.task.source import load
from tests.task.replay import reference_text


@pytest.fixture(scope="module")
def index() -> GraphIndex:
    source = reference_text("return self.bn(x + 1) * self.bn.weight", "self.bn = nn.BatchNorm1d(6)")
    task = capture(load.load_source(source, "ref"))
    return GraphIndex(task.graph, task.interface)


def test_references_are_read_and_written():
    assert reference("add") == "%add" and reference("bn", 3) == "%bn:3"
    assert resolve("%bn:3") == ("bn", 3) and resolve("%add") == ("add", 0)
    assert is_reference("%add") and not is_reference("tanh")


def test_producers_users_and_origins(index):
    norm = index.producer(index.graph.outputs[0])
    assert norm is not None and norm.op == "aten.mul.Tensor"
    left, right = references(norm)
    assert index.producer(left).op == "aten._native_batch_norm_legit_functional.default"
    assert index.producer(right) is None and index.origin(right) == "parameter:bn.weight"
    assert [n.op for n in index.users(right)] == [index.producer(left).op, "aten.mul.Tensor"]
    assert index.users(left) == [norm]


def test_counts_are_sums_of_whole_numbers():
    line = "return x.sum(), (x > 0).sum(), x.argmax(1), (x > 0).cumsum(1)[:, 1:].int(), (x > 0).float().sum()"
    task = capture(load.load_source(reference_text(line), "ref"))
    assert sums(task.graph) == {1, 3}


def test_every_result_has_its_dtype_and_shape(index):
    mean = index.graph.mutations["bn.running_mean"]
    assert resolve(mean)[1] == 3
    assert index.shape(mean) == (6,) and index.dtype(mean) == "f32"
    assert index.dtype(index.graph.mutations["bn.num_batches_tracked"]) == "i64"
    assert index.shape("%x") == (4, 6)


def test_what_leaves_the_graph(index):
    assert index.escapes(index.graph.outputs[0])
    assert index.escapes(index.graph.mutations["bn.running_var"])
    assert not index.escapes("%x")


def test_dimensions_are_evaluated():
    assert size(7, {}) == 7
    assert size("((s0 * 2) + (s1 // 3))", {"s0": 4, "s1": 10}) == 11
    assert evaluate("(s0 ** 0.5)", {"s0": 9}) == 3.0
    with pytest.raises(ValueError, match="not a size"):
        size("print(1)", {})
