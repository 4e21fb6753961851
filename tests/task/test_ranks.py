"""Where forward works element by element, tensors may have fewer dims than those that it was traced with."""

from __future__ import annotations

from akg_core.records import Task
from akg_core.task.capture import capture
from akg_core.task.inputs import draws
from akg_core.task.source import load

FILE = """
import torch

class Model(torch.nn.Module):
    def forward(self, x, y):
        {body}

def get_inputs():
    return [torch.randn(4, 3, 5), torch.randn(5)]

def get_inputs_dyn_list():
    return [get_inputs(), [torch.randn(6, 7), torch.randn(7)], [torch.randn(2), torch.randn(2)]]

def get_init_inputs():
    return []
"""


def captured(body: str) -> Task:
    return capture(load.load_source(FILE.format(body=body), "ref", traced=True))


def test_leading_dims_may_lack_where_forward_works_by_elements() -> None:
    task = captured("return torch.where(x > 0, x * y, y).half()")
    assert (task.interface.absent, task.refused) == ((1, 2), ())
    assert task.cases[1] == {"s0": 1, "s1": 6, "s2": 7, "absent": 1}
    module = load.load_source(task.source, "ref")
    shapes = [[x.shape for x in draws.resized(module, task.interface, s, 1)] for s in draws.fewer(task)]
    assert shapes == [[(3, 5), (5,)], [(5,), (5,)]]


def test_tensors_may_be_empty_there() -> None:
    sizes = "[torch.randn(2), torch.randn(2)]"
    file = FILE.replace(sizes, f"{sizes}, [torch.randn(0, 7), torch.randn(7)], [torch.randn(4, 3, 0), torch.randn(0)]")
    task = capture(load.load_source(file.format(body="return x * y"), "ref", traced=True))
    assert task.interface.empty and task.refused == () and draws.fewer(task)[-1] == {"s0": 4, "s1": 3, "s2": 0}
    summed = capture(load.load_source(file.format(body="return (x * y).sum(-1)"), "ref", traced=True))
    assert not summed.interface.empty and summed.refused == (1, 2, 3, 4)


def test_they_may_not_where_dims_are_counted_or_asked_for() -> None:
    assert captured("return (x * y).cumsum(0)").refused == (1, 2)
    assert captured("return x * y if x.dim() != 2 else x - y").interface.absent == (2,)
    assert captured("return x * y, y + 1").interface.absent == (), "the second result has other dims"
