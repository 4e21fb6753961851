"""What tracing assumed of sizes that vary travels with the task: no size at which forward is another passes for one."""

from __future__ import annotations

import pytest
import torch

from akg_core.records import Task
from akg_core.task.capture import capture
from akg_core.task.graph import holds, size
from akg_core.task.inputs import draws, edges
from akg_core.task.inputs.sizes import hidden_sizes
from akg_core.task.source import load
from tests.task.replay import reference_text, replay

TWO = "torch.randn(8, 16), torch.randn(8, 16)"

WITHIN = {
    "halves": ("a, b = x.chunk(2, 1)\nreturn a * b", "torch.randn(8, 16)", [(1, 16), (8, 30)], [(8, 17), (8, 1)]),
    "a slice": ("return x[:, 4:12] + 1", "torch.randn(8, 16)", [(1, 12), (9, 40)], [(8, 11), (8, 3)]),
    "a branch on more": ("return x * 2 if x.shape[0] > 5 else x", "torch.randn(8, 16)", [(6, 1)], [(5, 16), (1, 16)]),
    "a branch on less": ("return x * 2 if x.shape[0] < 50 else x", "torch.randn(8, 16)", [(49, 3)], [(50, 16)]),
    "a branch on one": ("return x * 2 if x.shape[0] == 1 else x", "torch.randn(8, 16)", [(2, 1)], [(1, 16)]),
    "a branch on another": ("return x * 2 if x.shape[0] != 12 else x", "torch.randn(8, 16)", [(11, 3)], [(12, 16)]),
    "a branch on both": ("return x * 2 if x.numel() < 999 else x", "torch.randn(8, 16)", [(1, 998)], [(27, 37)]),
    "parity": ("return x * 2 if x.shape[0] % 2 == 0 else x", "torch.randn(8, 16)", [(4, 1)], [(9, 16), (1, 16)]),
    "an assertion": ("assert x.shape[1] >= 8\nreturn x * 2", "torch.randn(8, 16)", [(1, 8)], [(8, 7)]),
    "torch._check": ("torch._check(x.shape[1] >= 8)\nreturn x * 2", "torch.randn(8, 16)", [(1, 8)], [(8, 7)]),
    "a squeeze": ("return x.squeeze() * 2", "torch.randn(8, 16)", [(2, 2)], [(1, 16), (8, 1)]),
    "windows": ("return x.unfold(1, 4, 4).sum(-1)", "torch.randn(8, 16)", [(1, 8)], [(8, 17), (8, 3)]),
    "nothing": ("return x.softmax(-1)", "torch.randn(8, 16)", [(1, 1), (1, 16), (8, 1)], [(0, 16), (8, 0)]),
}


def captured(body: str, inputs: str) -> Task:
    arguments = ", ".join("xy"[: inputs.count("torch.")])
    return capture(load.load_source(reference_text(body, inputs=inputs, arguments=arguments), "ref"), dynamic=True)


@pytest.mark.parametrize("name", WITHIN)
def test_a_graph_holds_at_the_sizes_at_which_it_is_forward(name: str) -> None:
    body, inputs, within, beyond = WITHIN[name]
    task = captured(body, inputs)
    model = load.load_source(task.source, "ref").model()
    for sizes in within:
        symbols = dict(zip(task.symbols, sizes, strict=True))
        assert holds(task.interface.guards, symbols), sizes
        x = torch.randn(sizes)
        assert torch.equal(replay(task, model, [x], symbols)[0][0], model(x))
    for sizes in beyond:
        assert not holds(task.interface.guards, dict(zip(task.symbols, sizes, strict=True))), sizes


def test_guards_are_said_in_the_report() -> None:
    (note,) = (note for note in captured(*WITHIN["a slice"][:2]).notes if "refuses" in note)
    assert note == "A kernel refuses sizes unless s1 >= 4; s1 >= 12: there forward is another."


def test_edges_lie_at_and_beyond_each_guard() -> None:
    task = captured(*WITHIN["a slice"][:2])
    found = [sizes["s1"] for sizes in edges.edges(task)]
    assert {3, 11, 12} <= set(found)
    assert [edges.is_beyond(task.interface, {"s0": 8, "s1": s}) for s in (11, 12)] == [True, False]
    assert all(sizes["s1"] >= 12 for sizes in hidden_sizes(task))
    halves = captured(*WITHIN["halves"][:2])
    assert any(sizes["s1"] % 2 for sizes in edges.edges(halves))
    assert not any(sizes["s1"] % 2 for sizes in hidden_sizes(halves))


@pytest.mark.parametrize("body", ["return x + y", "return x @ y.t()"])
def test_a_dimension_of_one_alone_is_beyond(body: str) -> None:
    task = captured(body, TWO)
    (sizes,) = (sizes for sizes in edges.edges(task) if len(sizes) > len(task.symbols))
    assert edges.is_beyond(task.interface, sizes)
    x, y = draws.resized(load.load_source(task.source, "ref"), task.interface, sizes, seed=1)
    differing = [d for d in (0, 1) if x.shape[d] != y.shape[d]]
    assert y.shape[differing[-1]] == 1 and size(task.interface.arguments[1].shape[differing[-1]], task.symbols) > 1
