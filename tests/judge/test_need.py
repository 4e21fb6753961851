"""The memory that judging a task takes is estimated before it is taken."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

from akg_core.errors import TaskError
from akg_core.judge.need import bytes_needed, bytes_unspared, require_room
from akg_core.records import Task
from akg_core.worker.device import Device

KiB = 1 << 10


@pytest.fixture(scope="module")
def of(capture: Callable[..., Task]) -> Callable[[str], Task]:
    def of(forward: str) -> Task:
        source = f"""
            import torch
            class Model(torch.nn.Module):
                def forward(self, x):
                    return {forward}
            def get_inputs(): return [torch.randn(16, 16)]  # a KiB
            def get_init_inputs(): return []
        """
        return capture(dedent(source))

    return of


@pytest.mark.parametrize(
    ("forward", "alive"),
    [
        ("torch.relu(x)", 1),
        ("torch.relu(x).t().exp()", 2),  # a view is no memory, and keeps what it shows
        ("torch.relu(x).exp().neg().sin()", 2),  # what nobody reads any more is given back
        ("torch.relu(x) * torch.exp(x)", 3),
    ],
)
def test_what_is_alive_at_once_is_counted_in_float64(of: Callable[[str], Task], forward: str, alive: int) -> None:
    held = 2 * 1 + 3 * 1  # inputs of two cases, outputs of three runs
    reference = 1 + 1 + 2 * (1 + alive)
    assert bytes_needed(of(forward)) == (held + reference) * KiB


def test_a_candidate_that_needs_more_than_the_reference_counts(of: Callable[[str], Task]) -> None:
    assert bytes_needed(of("x.view(4, 64)")) == (2 * 1 + 3 * 1 + max(2 + 2, 2 + 2)) * KiB


class _Small(Device):
    def free_bytes(self) -> int:
        return 12 * KiB


def test_a_task_that_does_not_fit_is_refused_with_both_figures(of: Callable[[str], Task]) -> None:
    require_room(of("torch.relu(x)"), _Small())
    with pytest.raises(TaskError, match=r"takes about .* GiB of memory, and .* GiB are free\..*--scale"):
        require_room(of("torch.relu(x) * torch.exp(x)"), _Small())


def test_beside_others_there_is_room_for_all_cases_and_for_comparing(of: Callable[[str], Task]) -> None:
    held, reference, comparing = 10 * 1 + 11 * 1, 1 + 1 + 2 * (1 + 1), 8 * 2 * 1
    assert bytes_unspared(of("torch.relu(x)")) == (held + reference + comparing) * KiB
