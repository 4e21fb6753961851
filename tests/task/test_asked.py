"""Floats and ints that forward takes: what was asked of them is a condition, and everything else may vary."""

from __future__ import annotations

import pytest

from akg_core.records import Task
from akg_core.task.capture import capture
from akg_core.task.inputs import draws
from akg_core.task.source import load

FILE = """
import torch

class Model(torch.nn.Module):
    def forward(self, x, a, b):
        {body}

def get_inputs():
    return [torch.randn(4, 24), {first}]

def get_inputs_dyn_list():
    return [get_inputs(), [torch.randn(6, 24), {second}], [torch.randn(8, 24), {third}]]

def get_init_inputs():
    return []
"""


def captured(body: str, *pairs: str) -> Task:
    first, second, third = pairs
    return capture(
        load.load_source(FILE.format(body=body, first=first, second=second, third=third), "ref", traced=True)
    )


FLOATS = {
    "a branch": ("return x / (1.0 - a) * b if a > 0.0 else x.half()", ("(a > 0.0)",)),
    "a refusal": ("assert not 0.25 >= a * 2, a\n        return x * a + float(b)", ("(not ((a * 2) <= 0.25))",)),
    "a number for an operator": ("return torch.nn.functional.layer_norm(x, (24,), eps=a) * b", ("(a == 0.5)",)),
}


@pytest.mark.parametrize("name", FLOATS)
def test_a_float_varies_as_far_as_forward_is_the_same(name: str) -> None:
    body, asked = FLOATS[name]
    task = captured(body, "0.5, 2.0", "0.5, 3.0", "0.0, 2.0")
    assert [argument.kind for argument in task.interface.arguments] == ["tensor", "number", "number"]
    assert (task.interface.asked, task.refused) == (asked, (2,))
    assert task.notes[0].startswith("A kernel refuses arguments unless a ") or "not" in asked[0]
    _, a, b = draws.inputs(load.load_source(task.source, "ref"), 3, "signed", task.interface)
    assert 0.25 < a <= 0.75 and (a == 0.5) == ("==" in asked[0]) and 1.0 <= b <= 3.0


def test_an_int_that_is_a_size_varies() -> None:
    task = captured("return x.view(-1, int(a), 24 // a).sum(-1) * b", "3, 2", "4, 2", "7, 2")
    x, a, b = task.interface.arguments
    assert (a.kind, a.shape, a.value) == ("size", ("s1",), 3) and (b.kind, b.value) == ("constant", 2)
    assert x.shape == ("s0", 24) and task.refused == (2,), "24 is no multiple of 7"
    made = draws.resized(load.load_source(task.source, "ref"), task.interface, {"s0": 5, "s1": 8}, seed=1)
    assert (made[0].shape, *made[1:]) == ((5, 24), 8, 2)


def test_an_int_that_decides_how_forward_goes_is_a_constant() -> None:
    task = captured("return x.sum(a - 1) if b > 2 else x", "2, 3", "2, 4", "2, 2")
    assert [argument.kind for argument in task.interface.arguments[1:]] == ["constant", "size"]
    assert task.refused == (2,)
