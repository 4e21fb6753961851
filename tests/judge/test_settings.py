"""What of a process a kernel must leave as it was."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
import torch

from akg_core.judge.candidate.settings import Settings


class Mode(torch.overrides.TorchFunctionMode):
    pass


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda: torch.set_num_threads(torch.get_num_threads() + 1), "threads of torch"),
        (lambda: torch.set_grad_enabled(not torch.is_grad_enabled()), "gradients"),
        (lambda: torch.manual_seed(0), "random numbers"),
        (lambda: torch.rand(3), "random numbers"),
        (lambda: Mode().__enter__(), "modes of torch"),
        (lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}), "processors"),
    ],
)
def test_what_is_changed_is_named_and_put_back(change: Callable[[], object], named: str) -> None:
    if named == "processors" and len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one processor")
    settings = Settings()
    assert settings.restore() == ()
    change()
    assert settings.restore() == (named,)
    assert set(settings.restore()) <= {"random numbers"}


def test_a_kernel_that_draws_leaves_another_seed() -> None:
    settings = Settings(seeded=True)
    torch.manual_seed(5)
    assert settings.restore() == ()
