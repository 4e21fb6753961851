"""Times by the clock of the process that runs a kernel: what makes such a clock believed, and what does not."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from akg_core.device import Device
from akg_core.judge.candidate import sampling, timed_model
from akg_core.judge.candidate.harness import profile_case
from akg_core.judge.timing import inside
from akg_core.judge.timing.entrants import KERNEL
from akg_core.records import Case, TimingPlan
from akg_core.worker.tensors import load, save


class Answering:
    """Stands in for a kernel's process: what each call is told, and how long it takes beside its samples."""

    def __init__(self, once: float, told: float, beside: float, sampling: float = 0.0) -> None:
        self.once, self.told, self.beside, self.sampling, self.calls, self.now = once, told, beside, sampling, 0, 0.0

    def sample(self, plan: TimingPlan) -> tuple[float, ...]:
        self.calls += 1
        self.now += self.beside + (self.sampling + self.once) * (plan.samples + plan.warmup)
        return (self.told,) * plan.samples

    def perf_counter(self) -> float:
        return self.now


@pytest.mark.parametrize("once", [5e-6, 2e-4, 6e-3, 0.5, 8.0])
@pytest.mark.parametrize("beside", [1e-3, 5e-3, 0.02])
def test_a_slow_answer_makes_no_honest_clock_a_lie(once: float, beside: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when every call waits for a machine that is busy; while a clock at less than half its speed is found."""
    for told, lies in ((once, False), (once / 2.3, True), (once / 1000, True)):
        kernel = Answering(once, told, beside)
        monkeypatch.setattr(inside, "time", kernel)
        assert bool(inside._disagreement(kernel, TimingPlan(), lambda count: 0.003)) == lies, (told, kernel.calls)
        assert kernel.now < 60


@pytest.mark.parametrize("once", [5e-6, 2e-5, 2e-4])
def test_what_a_device_takes_to_be_waited_for_is_no_lie(once: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small kernel on a device takes less than starting, waiting and reading its events."""
    for told, lies in ((once, False), (once / 2.3, True)):
        kernel = Answering(once, told, 1e-3, sampling=25e-6)
        monkeypatch.setattr(inside, "time", kernel)
        assert bool(inside._disagreement(kernel, TimingPlan(), lambda count: 0.003 + 25e-6 * count)) == lies


@pytest.mark.parametrize(("told", "lies"), [(2e-6, False), (2e-7, True)])
def test_a_busy_machine_makes_no_honest_clock_a_lie(told: float, lies: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What samples take beside what they count is then more than is known, also for a kernel that does nothing."""
    kernel = Answering(2e-6, told, 1e-3, sampling=2e-5)

    @contextlib.contextmanager
    def idle(*_: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(beside=lambda count: 1e-3 + 2e-5 * count)

    monkeypatch.setattr(inside, "time", kernel)
    monkeypatch.setattr(sampling, "Idle", idle)
    prepared = SimpleNamespace(where={}, ready=lambda: SimpleNamespace(output_bytes=64))
    assert bool(inside._clock_lies(None, prepared, kernel, TimingPlan(), 5e-6)) == lies


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("hidden", [0.0, 3e-5])
def test_a_tiny_kernel_is_believed_where_a_sample_takes_long(
    seed: int, hidden: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of some 165 µs a sample, which are a little more now and less then, a kernel takes three."""
    kernel, chance = Answering(3.4e-6 + hidden, 3.4e-6, 0.0), random.Random(seed)

    def beside(count: int) -> float:
        took, kernel.beside = (1.5e-3 + count * (165e-6 + abs(chance.gauss(0, 5e-6))) for _ in range(2))
        kernel.beside += 1.7e-6 * count
        kernel.now += took
        return took

    monkeypatch.setattr(inside, "time", kernel)
    assert bool(inside._disagreement(kernel, TimingPlan(), beside)) == bool(hidden)


@pytest.mark.parametrize("each", [2e-6, 2e-5, 2e-4, 2e-3])
def test_what_samples_take_beside_what_they_count_is_soon_known(each: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough of them are taken, and no more than that takes."""
    asked: list[int] = []

    def beside(count: int) -> float:
        asked.append(count)
        return 5e-4 + each * count

    monkeypatch.setattr(sampling, "Idle", lambda *_: contextlib.nullcontext(SimpleNamespace(beside=beside)))
    assert sampling.seconds_beside(None, {}) == pytest.approx(each, rel=0.03)
    assert max(asked) >= 64 and sum(5e-4 + each * count for count in asked) < 2.5


@pytest.mark.parametrize(("after", "lies"), [(5e-6, False), (1.1e-3, False), (2e-3, True)])
def test_work_that_a_clock_does_not_see_is_found(after: float, lies: bool) -> None:
    """By what goes on when a call that counted a millisecond has returned."""
    kernel = SimpleNamespace(sample=lambda plan: (after if plan.after else 1e-3,) * plan.samples)
    assert bool(inside._works_beside(kernel, TimingPlan(cold=True), 1e-3)) == lies


def test_what_goes_on_after_a_call_is_the_time_to_wait_for_it(tmp_path: Path) -> None:
    class Beside(Device):
        """Works for 20 ms after a call, of which its clock counts nothing."""

        until = 0.0

        def synchronize(self) -> None:
            time.sleep(max(0.0, self.until - time.perf_counter()))

        def seconds(self, action: Callable[[], Any]) -> tuple[float, Any]:
            return 1e-6, action()

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            Beside.until = time.perf_counter() + 0.02
            return x + 1

    save(tmp_path / "inputs", [torch.zeros(100)])
    case = Case(name="drawn", inputs=tmp_path / "inputs", outputs=tmp_path / "outputs")
    for after, least, most in ((False, 0, 1e-3), (True, 0.015, 1.0)):
        report = profile_case(lambda: SimpleNamespace(ModelNew=Model), case, TimingPlan(after=after), Beside())
        assert least < report.samples[0] < most


class Ticking:
    """Stands in for a participant: samples around a second, so much apart."""

    def __init__(self, name: str, width: float) -> None:
        self.name, self.draw, self.width = name, random.Random(name), width

    def sample(self, plan: TimingPlan) -> tuple[float, ...]:
        return tuple(self.draw.gauss(1.0, self.width) for _ in range(plan.samples))


@pytest.mark.parametrize(("kernel", "eager", "count"), [(0.005, 0.005, 8), (0.005, 0.2, 40), (0.2, 0.005, 40)])
def test_there_are_no_more_rounds_once_intervals_are_narrow(kernel: float, eager: float, count: int) -> None:
    participants = [Ticking(KERNEL, kernel), Ticking("eager", eager)]
    rounds = inside._rounds(participants, TimingPlan(), 1e9, {})
    assert [len(samples) for samples in rounds.values()] == [count, count]


@pytest.mark.parametrize("layout", ["torch.randn(5, 1).expand(5, 7)", "torch.randn(7, 5).t()", "torch.randn(5, 7)"])
def test_inputs_of_any_layout_are_timed_and_changed_in_place(layout: str, tmp_path: Path) -> None:
    """Other values come to lie where the timed ones were, also where elements share memory."""
    timed, other = (eval(layout, {"torch": torch}) for _ in range(2))
    save(tmp_path / "timed", [timed])
    save(tmp_path / "other", [other])
    seen = set()

    class ModelNew(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            seen.add((x.data_ptr(), x.stride()))
            return x.clone()

    module = SimpleNamespace(ModelNew=ModelNew)
    case = Case(name="timed", inputs=tmp_path / "timed", outputs=tmp_path / "unused")
    check = Case(name="other", inputs=tmp_path / "other", outputs=tmp_path / "outputs")
    report = profile_case(lambda: module, case, TimingPlan(samples=3, check=check))
    assert not report.error and len(report.samples) == 3
    assert torch.equal(load(check.outputs)["result"], other)
    assert len(seen) == 3 and {stride for _, stride in seen} == {timed.stride()}


@pytest.mark.parametrize("copies", [1, 3])
def test_updated_arguments_hold_again_what_they_held(
    copies: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each sample does the same work, and an answer that lies in an argument is none that changed afterwards."""
    monkeypatch.setattr(timed_model, "_COPIES", ((1 << 30, copies),))
    timed, other = torch.rand(5, 7), torch.rand(5, 7)
    save(tmp_path / "timed", [[torch.ones(3), timed]])
    save(tmp_path / "other", [[torch.ones(3), other]])
    sums = []

    class ModelNew(torch.nn.Module):
        def forward(self, xs: list[torch.Tensor]) -> torch.Tensor:
            sums.append(float(xs[1].sum()))
            return xs[1].mul_(0.5)

    module = SimpleNamespace(ModelNew=ModelNew)
    case = Case(name="timed", inputs=tmp_path / "timed", outputs=tmp_path / "unused", updates=(1,))
    check = Case(name="other", inputs=tmp_path / "other", outputs=tmp_path / "outputs", updates=(1,))
    report = profile_case(lambda: module, case, TimingPlan(warmup=2, samples=8, cold=True))
    assert not report.error and len(report.samples) == 8
    assert sums == pytest.approx([float(timed.sum())] * 10)
    report = profile_case(lambda: module, case, TimingPlan(samples=4, cold=True, check=check))
    assert not report.error
    assert torch.equal(load(check.outputs)["result"], other * 0.5)
    assert list(load(check.outputs)["changed"]) == ["argument 0[1]"]


def test_outputs_that_change_after_the_call_are_told(tmp_path: Path) -> None:
    given: list[torch.Tensor] = []

    class Late(Device):
        """Something goes on there while caches are swept."""

        def sweep(self, size: int) -> None:
            for tensor in given:
                tensor.add_(1)

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            given[:] = [x.clone()]
            return given[0]

    save(tmp_path / "inputs", [torch.zeros(100)])
    case = Case(name="drawn", inputs=tmp_path / "inputs", outputs=tmp_path / "outputs")
    report = profile_case(lambda: SimpleNamespace(ModelNew=Model), case, TimingPlan(samples=2, cold=True), Late())
    assert report.error == "its outputs changed after it had returned" and not report.samples
