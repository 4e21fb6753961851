"""Timing: intervals, baselines, the floor, and kernels that lie about time."""

from __future__ import annotations

import contextlib
import itertools
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from akg_core.judge import floor, sampling, statistics, timing
from akg_core.judge.candidate import profile_case
from akg_core.judge.floor import Machine
from akg_core.judge.prepare import Prepared, prepare
from akg_core.judge.records import Preparation, Timing
from akg_core.judge.timing import Baselines, exclusively, measure
from akg_core.records import Case, Target, Task, TimingPlan
from akg_core.storage import cache_folder
from akg_core.worker.device import Device
from akg_core.worker.pool import Pool
from akg_core.worker.tensors import load, save
from tests.judge import kernels
from tests.judge.kernels import HONEST

CPU = Target(backend="cpu")
_numbers = itertools.count()


@pytest.fixture(scope="module")
def source() -> str:
    return kernels.SOFTMAX.format(rows=512, columns=4096)


@pytest.fixture(scope="module")
def large(pool: Pool, capture: Callable[..., Task], source: str, tmp_path_factory) -> Iterator[Prepared]:
    folder = tmp_path_factory.mktemp("timed")
    with prepare(pool, capture(source), folder, seconds=0.5) as prepared:
        yield prepared


@pytest.fixture(scope="module")
def baselines(pool: Pool, large: Prepared) -> Iterator[Baselines]:
    with Baselines(pool, large, modes=("eager",)) as baselines:
        yield baselines


@pytest.fixture
def clock(pool: Pool, large: Prepared, toy: Path, source: str, tmp_path: Path) -> Callable[..., Timing]:
    def clock(body: str = HONEST, head: str = "", baselines: Baselines | None = None) -> Timing:
        artifact = kernels.kernel(tmp_path / f"kernel-{next(_numbers)}", toy, source, body, head)
        return measure(pool, large, "toy", artifact, CPU, baselines, seconds=0.3)

    return clock


def test_an_honest_kernel_is_timed_beside_eager(clock: Callable[..., Timing], baselines: Baselines) -> None:
    timing = clock(baselines=baselines)
    assert timing.status == "ok", timing.reason
    assert [m.name for m in timing.measurements] == ["kernel", "eager"]
    for measurement in timing.measurements:
        assert measurement.low <= measurement.median <= measurement.high
        assert len(measurement.samples) >= 4
        assert measurement.median > timing.floor.seconds * timing.floor.margin
    (speedup,) = timing.speedups
    assert speedup.over == "eager" and speedup.low <= speedup.ratio <= speedup.high
    assert timing.settings["seed"] == 1 and timing.settings["threads"] >= 1


def test_a_slower_kernel_is_slower(clock: Callable[..., Timing], baselines: Baselines) -> None:
    timing = clock(f"time.sleep(0.2)\n{HONEST}", baselines=baselines)
    assert timing.speedups[0].result == "slower"
    assert timing.median("kernel") > 0.2


LIES = {
    "a clock that runs slowly": (
        HONEST,
        """
        from types import SimpleNamespace
        from akg_core.worker import device
        real = device.time.perf_counter
        device.time = SimpleNamespace(perf_counter=lambda: real() / 1000)
        """,
        "cheating",
        "clock",
    ),
    "a clock that runs at less than half its speed": (
        HONEST,
        """
        from types import SimpleNamespace
        from akg_core.worker import device
        real = device.time.perf_counter
        device.time = SimpleNamespace(perf_counter=lambda: real() / 2.3)
        """,
        "cheating",
        "clock",
    ),
    "remembers by address": (
        """
        if x.data_ptr() not in self.kept:
            self.kept[x.data_ptr()] = kernel(x, self.scale, torch.empty_like(x))
        return self.kept[x.data_ptr()].clone()
        """,
        "",
        "incorrect",
        "After the samples",
    ),
    "has a thread compute later": (
        "y = torch.empty_like(x)\nthreading.Timer(1.0, kernel, (x, self.scale, y)).start()\nreturn y",
        "",
        "cheating",
        "changes the harness",
    ),
    "computes when the next call comes": (
        """
        for one in self.kept.pop("last", ()):
            kernel(*one)
        y = torch.empty_like(x)
        self.kept["last"] = [(x, self.scale, y)]
        return y
        """,
        "",
        "incorrect",
        "After the samples",
    ),
    "computes when its parameter was written to": (
        """
        if self.scale._version not in self.kept:
            self.kept[self.scale._version] = kernel(x, self.scale, torch.empty_like(x))
        return self.kept[self.scale._version].clone()
        """,
        "",
        "incorrect",
        "After the samples",
    ),
    "computes when its input was written to more than between samples": (
        """
        before = self.kept.get(x.data_ptr(), (0, None))
        if before[1] is None or x._version - before[0] > 2:
            before = (0, kernel(x, self.scale, torch.empty_like(x)))
        self.kept[x.data_ptr()] = (x._version, before[1])
        return before[1].clone()
        """,
        "",
        "incorrect",
        "After the samples",
    ),
    "crashes while timed": ("if self.calls > 5: ctypes.string_at(0)\n" + HONEST, "", "failed", "SIGSEGV"),
    "calls back with too few samples": (
        HONEST,
        """
        from akg_core.judge import candidate
        from akg_core.records import ProfileReport
        candidate.profile_case = lambda *_, **__: ProfileReport(samples=(), timer="none")
        """,
        "cheating",
        "changes the harness",
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_lies_about_time(clock: Callable[..., Timing], name: str) -> None:
    body, head, status, reason = LIES[name]
    timing = clock(body, head)
    assert (timing.status, reason in timing.reason) == (status, True), timing


def test_what_is_physically_impossible_is_refused(
    clock: Callable[..., Timing], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine that could move a megabyte a second, the honest kernel would be too fast to be true."""
    slow = Machine(
        processor="slow",
        cache_bytes=32 << 20,
        bytes_per_second={1 << 20: 1e6},
        operations_per_second=1e12,
        sampling_seconds=0.0,
    )
    monkeypatch.setattr(floor, "machine", lambda *_, **__: slow)
    timing = clock()
    assert timing.status == "impossible"
    assert "this machine needs" in timing.reason


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
        monkeypatch.setattr(timing, "time", kernel)
        assert bool(timing._disagreement(kernel, TimingPlan(), lambda count: 0.003)) == lies, (told, kernel.calls)
        assert kernel.now < 60


@pytest.mark.parametrize("once", [5e-6, 2e-5, 2e-4])
def test_what_a_device_takes_to_be_waited_for_is_no_lie(once: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small kernel on a device takes less than starting, waiting and reading its events."""
    for told, lies in ((once, False), (once / 2.3, True)):
        kernel = Answering(once, told, 1e-3, sampling=25e-6)
        monkeypatch.setattr(timing, "time", kernel)
        assert bool(timing._disagreement(kernel, TimingPlan(), lambda count: 0.003 + 25e-6 * count)) == lies


@pytest.mark.parametrize(("told", "lies"), [(2e-6, False), (2e-7, True)])
def test_a_busy_machine_makes_no_honest_clock_a_lie(told: float, lies: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What samples take beside what they count is then more than is known, also for a kernel that does nothing."""
    kernel = Answering(2e-6, told, 1e-3, sampling=2e-5)

    @contextlib.contextmanager
    def idle(*_: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(beside=lambda count: 1e-3 + 2e-5 * count)

    monkeypatch.setattr(timing, "time", kernel)
    monkeypatch.setattr(sampling, "Idle", idle)
    prepared = SimpleNamespace(where={}, ready=lambda: SimpleNamespace(output_bytes=64))
    assert bool(timing._clock_lies(None, prepared, kernel, TimingPlan(), 5e-6)) == lies


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

    monkeypatch.setattr(timing, "time", kernel)
    assert bool(timing._disagreement(kernel, TimingPlan(), beside)) == bool(hidden)


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
    assert bool(timing._works_beside(kernel, TimingPlan(cold=True), 1e-3)) == lies


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
    """Stands in for a contestant: samples around a second, so much apart."""

    def __init__(self, name: str, width: float) -> None:
        self.name, self.draw, self.width = name, random.Random(name), width

    def sample(self, plan: TimingPlan) -> tuple[float, ...]:
        return tuple(self.draw.gauss(1.0, self.width) for _ in range(plan.samples))


@pytest.mark.parametrize(("kernel", "eager", "count"), [(0.005, 0.005, 8), (0.005, 0.2, 40), (0.2, 0.005, 40)])
def test_there_are_no_more_rounds_once_intervals_are_narrow(kernel: float, eager: float, count: int) -> None:
    contestants = [Ticking(timing.KERNEL, kernel), Ticking("eager", eager)]
    rounds = timing._rounds(contestants, TimingPlan(), 1e9, {})
    assert [len(samples) for samples in rounds.values()] == [count, count]


def test_the_reference_through_torch_compile(
    pool: Pool, large: Prepared, toy: Path, source: str, tmp_path: Path
) -> None:
    with Baselines(pool, large, modes=("compile",)) as baselines:
        artifact = kernels.kernel(tmp_path / "kernel", toy, source)
        timing = measure(pool, large, "toy", artifact, CPU, baselines, seconds=0.3)
    assert timing.median("compile"), timing.unavailable
    if shutil.which("openssl"):
        headers = cache_folder() / "torchinductor" / "headers"
        assert any(headers.glob("*.gch")), "what takes the compiler longest is kept"


def test_a_baseline_that_does_not_run_is_named(
    pool: Pool, large: Prepared, toy: Path, source: str, tmp_path: Path
) -> None:
    with Baselines(pool, large, modes=("nonsense",)) as baselines:
        artifact = kernels.kernel(tmp_path / "kernel", toy, source)
        timing = measure(pool, large, "toy", artifact, CPU, baselines, seconds=0.2)
    assert timing.status == "ok"
    assert "nonsense" in timing.unavailable


def test_the_orchestrator_imports_no_torch() -> None:
    code = "import sys, akg_core.judge.verify, akg_core.judge.timing; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2]).returncode == 0


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


# --- the parts ---------------------------------------------------------------------------------------------


def test_intervals_cover_the_truth() -> None:
    draw = random.Random(1)
    hits = 0
    for _ in range(60):
        rounds = [[draw.gauss(1.0, 0.1) for _ in range(3)] for _ in range(12)]
        median, low, high = statistics.interval(rounds)
        assert low <= median <= high
        hits += low <= 1.0 <= high
    assert hits >= 50


def test_a_ratio_of_equals_is_inconclusive_and_of_others_is_not() -> None:
    draw = random.Random(2)
    one = [[draw.gauss(1.0, 0.05)] for _ in range(20)]
    other = [[draw.gauss(1.0, 0.05)] for _ in range(20)]
    twice = [[2 * sample for sample in samples] for samples in one]
    _, low, high = statistics.ratio(one, other)
    assert low < 1 < high
    ratio, low, high = statistics.ratio(twice, one)
    assert ratio == pytest.approx(2) and low > 1.8 and high < 2.2


def test_the_floor_is_the_larger_of_memory_and_arithmetic() -> None:
    machine = Machine(
        processor="",
        cache_bytes=32 << 20,
        bytes_per_second={1 << 20: 1e11, 1 << 28: 1e10},
        operations_per_second=1e12,
        sampling_seconds=0.0,
    )
    large = floor.floor(machine, Preparation(draws=(), minimum_bytes=1 << 30, operations=1e9))
    assert large.limited_by == "memory" and large.seconds == pytest.approx((1 << 30) / 1e10)
    small = floor.floor(machine, Preparation(draws=(), minimum_bytes=1 << 20, operations=1e10))
    assert small.limited_by == "arithmetic" and small.seconds == pytest.approx(1e-2)
    assert small.bytes_per_second == 1e11, "what fits a cache moves as fast as a cache"
    assert floor.floor(machine, Preparation(draws=())) is None


def test_the_machine_is_measured_once(pool: Pool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = floor.machine(pool)
    assert all(rate > 1e8 for rate in first.bytes_per_second.values()) and first.operations_per_second > 1e9
    monkeypatch.setattr(pool, "call", None)
    assert floor.machine(pool) == first


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


def test_a_device_is_held_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with exclusively("cpu"), (tmp_path / "akg-core" / "cpu.lock").open("w") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
