"""Loops that read numbers from tensors are captured as all of their turns at once, where these do not depend on each
other; others as they stand."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
import torch

from akg_core.errors import TaskError
from akg_core.task.capture import capture
from akg_core.task.scaling.shapes import shapes_of
from akg_core.task.source import load
from akg_core.task.source.load import ReferenceModule, load_source
from akg_core.task.tracing import turns

SOURCE = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x, new, at, ok, w, mode=1):
        n, m = at.shape[0], x.shape[1]
        y = x.clone()
{body}
        return y

def get_inputs():
    return inputs({turns})

def get_inputs_dyn_list():
    return [inputs({turns}), inputs(9)]

def inputs(n):
    new, at = torch.randn(n, 5, 4), torch.randint(-3, 10, (n,))
    return [torch.randn(5, 8, 4), new, at, torch.rand(n) > 0.4, torch.rand(n, 3, dtype=torch.bfloat16)]

def get_init_inputs():
    return []
"""
AT_ONCE = {
    "guarded": "for i in range(n):\n    p = at[i].item()\n    if 0 <= p < m:\n        y[:, p] = new[i]",
    "left out": (
        "for i in range(n):\n    p = int(at[i])\n    if p < 0 or not ok[i]:\n        continue\n"
        "    if p < m:\n        y[1, p, 1:3] = new[i, 2, 1:3] * 2 + p"
    ),
    "enumerated": "for i, p in enumerate(at):\n    p2 = p.item() % m\n    y[..., p2, :] = new[i, :, :]",
    "added": "for i in range(n):\n    if ok[i]:\n        y[:, at[i].item() % m] += new[i] * w[i, 0]",
    "nested": (
        "for i in range(n):\n    for j in range(3):\n        p = (at[i].item() + j) % m\n"
        "        if mode == 1 and ok[i]:\n            y[j, p] = new[i, j] * w[i, j]"
    ),
    "an inner loop of no effect on the place": (
        "for i in range(n):\n    for j in range(3):\n        y[0, at[i].item() % m] = new[i, j]"
    ),
    "from the end": "for i in range(n):\n    p = -1 - at[i].item() % m\n    y[:, p] = new[i]",
    "of both": (
        "for i in range(n):\n    p = at[i].item() % m\n    if ok[i]:\n        y[0, p] = 1.0\n"
        "    else:\n        x[1, p] = -1.0"
    ),
    "an index that is made": (
        "for i in range(n):\n    there = [slice(None)] * 3\n    there[1] = at[i].item() % m\n"
        "    y[tuple(there)] = new[i]"
    ),
}
AS_THEY_STAND = {
    "read and written": "for i in range(n):\n    p = at[i].item() % m\n    y[:, p] = y[:, i % m] + new[i]",
    "by another name": "z = y[:]\nfor i in range(n):\n    p = at[i].item() % m\n    y[:, p] = z[:, i % m]",
    "by an attribute": ("self.z = y\nfor i in range(n):\n    p = at[i].item() % m\n    y[:, p] = self.z[:, i % m]"),
    "counted": "for i, row in enumerate(y):\n    p = at[i].item() % m\n    y[:, p] = row[0, 0].item()",
    "a branch's name": (
        "for i in range(n):\n    p = 1\n    if ok[i]:\n        p = at[i].item() % m\n    y[:, p] = new[i]"
    ),
    "without a turn": "for i in range(0):\n    y[:, at[i].item() % m] = new[i]",
    "of counted numbers": "for i in range(4):\n    if i > 1 and int(i) != 3:\n        y[:, i] = new[0, :] * i",
    "carried": "s = 0\nfor i in range(n):\n    s = s + at[i].item() % m\n    y[:, s % m] = new[i]",
    "used after": "for i in range(n):\n    p = at[i].item() % m\n    y[:, p] = new[i]\ny = y * p",
    "written twice": "for i in range(n):\n    p = at[i].item() % m\n    y[:, p] = new[i]\n    y[:, 0] = 2.0",
    "of a list": "z = [0] * 8\nfor i in range(2):\n    z[i] = at[i].item()\ny = y * z[1]",
}


def made(body: str, size: int = 6, traced: bool = False) -> ReferenceModule:
    indented = "\n".join(" " * 8 + line for line in body.splitlines())
    return load_source(SOURCE.format(body=indented, turns=size), "ref.py", traced=traced)


def at_once(body: str) -> bool:
    """Whether the loop is run at once, and then gives what it gives as it stands."""
    done = []

    def run(*given: Any) -> bool:
        done.append(turns.run(*given))
        return done[-1]

    with mock.patch.object(load, "run", run):
        for seed in range(3):
            inputs, again = made(body).inputs(seed), made(body).inputs(seed)
            expected, got = made(body).model()(*inputs), made(body, traced=True).model()(*again)
            torch.testing.assert_close([got, again[0]], [expected, inputs[0]], rtol=1e-5, atol=1e-5)
    return any(done)


@pytest.mark.parametrize("body", AT_ONCE.values(), ids=AT_ONCE)
def test_turns_at_once_give_what_a_loop_gives(body: str) -> None:
    assert at_once(body)


@pytest.mark.parametrize("body", AS_THEY_STAND.values(), ids=AS_THEY_STAND)
def test_turns_that_depend_on_each_other_stay_a_loop(body: str) -> None:
    assert not at_once(body)


def test_a_graph_does_not_grow_with_the_turns() -> None:
    few, many = (capture(made(AT_ONCE["guarded"], size, traced=True)) for size in (3, 300))
    assert len(few.graph.nodes) == len(many.graph.nodes)
    assert isinstance(many.interface.arguments[2].shape[0], str)  # one kernel serves any number of turns


def test_what_a_call_costs_is_known() -> None:
    few, many = (shapes_of(made(AT_ONCE["guarded"], size).source, "ref.py") for size in (3, 300))
    assert few.work < many.work


def test_what_has_to_be_done_turn_by_turn_is_said_of_the_loop_as_it_stands() -> None:
    with pytest.raises(TaskError, match=r"line 11: forward looks at the values .*`if p < m:`"):
        capture(
            made(
                "for i in range(n):\n    p = int(y[0, i, 0])\n    if p < m:\n        return y\n    y[:, p] += 1",
                traced=True,
            )
        )
