"""Where sizes or turns of forward follow from what an argument holds, a kernel is made for that content alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from akg_core.device import HOST
from akg_core.errors import TaskError
from akg_core.judge.reference.locality import Locality
from akg_core.judge.reference.schedule import planned
from akg_core.records import Task
from akg_core.task.capture import capture
from akg_core.task.graph import held
from akg_core.task.inputs.other_numbers import given_numbers
from akg_core.task.source.load import load_source
from tests.design.judging import forward, judge, reference

INPUTS = "[torch.randn(12, 6), torch.tensor([0, 3, 8, 12]), torch.tensor([[2, 3], [1, 6]])]"
LINES = [
    "torch.cat([torch.softmax(x[a:b] @ x[a:b].T, -1) @ x[a:b] for a, b in zip(ends[:-1], ends[1:])])",
    "torch.stack([part.mean(0) for part in x.split((ends[1:] - ends[:-1]).tolist())])",
    "x + torch.repeat_interleave(torch.arange(3), ends.diff())[:, None]",
    "torch.repeat_interleave(x[:3], ends.diff(), dim=0)",
    "torch.cat([torch.linspace(0, 1, h.item()).outer(torch.linspace(0, 1, w)) .flatten() for h, w in grid])",
    "x[: grid.prod(-1).sum()].exp()",
    "x.view(ends[1], -1, 2).transpose(0, 1)",
    "x[torch.arange(12) % 3 == grid[0, 0]].relu(), x.expand(ends[1], -1, -1)[0]",
    "torch.zeros(int(ends.diff().max()), 2) + x[0, :2]",
    "torch.zeros(ends[-1], 2) if ends[-1] == len(x) else x",
    "F.pad(x, (0, 8 - (grid.max() % 8).item())).sum(0)",
    "[x[i, : n + 1] for i, n in enumerate(ends.unique().tolist()[:2])]",
    "[chunk.sum() for chunk in x.split(grid.prod(-1).tolist())] + [x[: len(ends.nonzero())].amax(0)]",
]
BODY = """    def forward(self, x, ends, grid):
        places = torch.empty(12, 2, dtype=torch.long)
        offset = 0
        for h, w in grid:
            rows = torch.arange(h.item())[:, None].expand(h, w)
            columns = torch.arange(w.item())[None, :].expand(h, w)
            if h > 1:
                rows = rows.flip(0)
            places[offset : offset + h * w] = torch.stack((rows, columns), -1).reshape(-1, 2)
            offset += h * w
        return x.flatten()[places].sum(-1)[:, None] * x"""


def _captured(body: str, inputs: str = INPUTS, more: str = "") -> Task:
    return capture(load_source(reference(body, inputs) + more, "reference", traced=True))


@pytest.mark.parametrize("line", LINES)
def test_sizes_that_follow_from_content(line: str) -> None:
    task = judge(reference(forward(line, "x, ends, grid"), INPUTS)).task
    assert any(argument.is_held for argument in task.interface.arguments)


def test_places_that_are_filled_turn_by_turn() -> None:
    task = judge(reference(BODY, INPUTS)).task
    assert [a.value for a in task.interface.arguments] == [None, None, [[2, 3], [1, 6]]]


def test_only_what_has_to_be_known_is_held() -> None:
    task = _captured(forward("x[ends[1].item()] + torch.zeros(grid[0, 1].item(), 6)", "x, ends, grid"))
    assert [a.is_held for a in task.interface.arguments] == [False, False, True]
    assert "Sizes follow from what grid holds: kernels are for [[2, 3], [1, 6]] alone." in task.notes


def test_numbers_that_do_as_tensors_are_not_held() -> None:
    task = _captured(forward("x * ends[1].item() + x[grid[0, 0].item()]", "x, ends, grid"))
    assert not any(a.is_held for a in task.interface.arguments)


def test_what_is_known_is_lost_where_something_else_is_written() -> None:
    body = """    def forward(self, x, ends, grid):
        ends = ends.clone()
        ends[1] = x.sum().long()
        return torch.zeros(ends[1].item(), grid[0, 0].item())"""
    with pytest.raises(TaskError, match="looks at the values of tensors"):
        _captured(body)


def test_real_numbers_are_not_held() -> None:
    with pytest.raises(TaskError, match="looks at the values of tensors"):
        _captured(forward("torch.zeros(int(x.sum()), 2)", "x, ends, grid"))


def test_a_content_that_is_drawn_is_said_to_be() -> None:
    task = _captured(
        forward("torch.zeros(n.item(), 6) + x[0]", "x, n"), "[torch.randn(12, 6), torch.randint(1, 12, (1,))]"
    )
    assert task.notes[-1] == "get_inputs draws n anew each time, so that a kernel refuses most of its draws."


def test_entries_of_another_content_are_refused() -> None:
    more = (
        "\n\ndef get_inputs_dyn_list():\n"
        "    return [[torch.randn(m, 6), torch.tensor([0, 3, n, 12]), torch.ones(2, 2).long()] for m, n in "
        "((12, 8), (12, 7), (14, 8))]\n"
    )
    body = forward("torch.cat([x[a:b].softmax(0) for a, b in zip(ends, ends[1:])])", "x, ends, grid")
    assert _captured(body, INPUTS, more).refused == (1,)


@pytest.mark.parametrize("more", ["", " * torch.arange(x.shape[1])", " + grid.flatten()[: x.shape[1] // 2].sum()"])
def test_sizes_vary_beside_a_content(more: str) -> None:
    body = forward(f"torch.cat([x[a:b].softmax(0) for a, b in zip(ends, ends[1:])]){more}", "x, ends, grid")
    task = judge(reference(body, INPUTS), dynamic=True).task
    assert isinstance(task.interface.arguments[0].shape[1], str)


def test_a_judge_asks_for_another_content_too_and_keeps_it_otherwise() -> None:
    body = forward("torch.cat([x[a:b].softmax(0) for a, b in zip(ends, ends[1:])])", "x, ends, grid")
    task = _captured(body, "[torch.randn(12, 6), torch.randint(1, 4, (3,)).cumsum(0), torch.ones(2, 2).long()]")
    (place,) = held(task.interface)
    (other,) = [plan.numbers for plan in planned(task, 7, Locality(), True, HOST) if plan.numbers]
    assert other.keys() == {"ends"} and other["ends"] != held(task.interface)[place]
    module = replace(load_source(task.source, "reference"), held=held(task.interface))
    assert all(module.inputs(seed)[1].tolist() == held(task.interface)[place] for seed in range(4))
    assert given_numbers(task, module.inputs(3), other)[1].tolist() == other["ends"]


def test_what_a_trace_needs_besides_is_held_too() -> None:
    body = forward("torch.roll(x, shifts=int(n[0]), dims=1).split(grid.prod(-1).tolist())", "x, n, grid")
    task = judge(reference(body, "[torch.randn(12, 6), torch.tensor([3]), torch.tensor([[2, 3], [1, 6]])]")).task
    assert [a.is_held for a in task.interface.arguments] == [False, True, True]


def test_what_is_refused_otherwise_is_said() -> None:
    with pytest.raises(TaskError, match="forward returns 12, which is not a tensor and which tensors may decide"):
        _captured(forward("(x.split(grid.prod(-1).tolist()), int(ends[-1]))", "x, ends, grid"))
