"""How many threads work on what."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from akg_core.judge.candidate.harness import run_cases
from akg_core.records import Case
from akg_core.worker import threads as threads_module
from akg_core.worker.pool import Pool
from akg_core.worker.tensors import load, save
from akg_core.worker.threads import spin_little_beside_others, threads, threads_for
from akg_core.worker.usage import cores


@pytest.fixture(autouse=True)
def three():
    with threads(3):
        yield


@pytest.mark.parametrize(("size", "count"), [(0, 1), (1 << 20, 1), (1 << 30, 3)])
def test_little_work_is_not_handed_out(size: int, count: int) -> None:
    with threads_for(size):
        assert torch.get_num_threads() == count
    assert torch.get_num_threads() == 3


def test_a_small_kernel_has_all_threads_when_it_is_judged(tmp_path: Path) -> None:
    """What goes wrong between threads is to show."""

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.view(-1)[torch.get_num_threads()]

    save(tmp_path / "inputs", [torch.arange(9.0)])
    case = Case(name="drawn", inputs=tmp_path / "inputs", outputs=tmp_path / "outputs")
    report = run_cases(lambda: SimpleNamespace(ModelNew=Model), [case], jit=True)
    assert report.cases[0].finished, report
    assert float(load(tmp_path / "outputs")["result"]) == 3.0


@pytest.mark.skipif(cores() < 2, reason="one core: OpenMP never spins for long")
def test_threads_that_wait_can_be_made_to_sleep() -> None:
    with Pool() as pool:
        seconds = pool.call("tests.worker.jobs:spin_after_work", {}).unwrap()
    asleep = 1e-3  # OpenMP may find itself without processors to spare, and spin as little by itself
    assert seconds["little"] < max(seconds["by_default"] / 4, asleep), seconds


@pytest.mark.parametrize(("waited", "little"), [(2.0, True), (1.0, False), (0.0, False)])
def test_threads_that_others_keep_waiting_spin_little(
    waited: float, little: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its two threads ran for two seconds."""
    asked: list[bool] = []
    monkeypatch.setattr(threads_module, "waited", lambda own: {(own[0], 1): waited / 2, (own[0], 2): waited / 2})
    monkeypatch.setattr(threads_module, "ran", lambda own: {(own[0], 1): 10**9, (own[0], 2): 10**9})
    monkeypatch.setattr(threads_module, "spin_little", lambda: asked.append(True))
    spin_little_beside_others()
    assert bool(asked) is little
