"""Timing: intervals, baselines, the floor, and kernels that lie about time."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from akg_core.judge.records import Preparation, Timing
from akg_core.judge.reference.prepare import Comparison, Prepared, prepare
from akg_core.judge.timing import floor, outside, statistics
from akg_core.judge.timing.floor import Machine
from akg_core.judge.timing.measure import Baselines, exclusively, measure
from akg_core.judge.timing.participant import Kept
from akg_core.records import Target, Task
from akg_core.storage import cache_folder, write_whole
from akg_core.worker.pool import Pool
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
    with prepare(pool, capture(source), folder) as prepared:
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


def test_an_honest_kernel_is_timed_beside_eager(
    clock: Callable[..., Timing], large: Prepared, baselines: Baselines
) -> None:
    timing = clock(baselines=baselines)
    assert timing.status == "ok", timing.reason
    assert [m.name for m in timing.measurements] == ["kernel", "eager"]
    for measurement in timing.measurements:
        assert measurement.low <= measurement.median <= measurement.high
        assert len(measurement.samples) >= 4
        assert measurement.median > timing.floor.seconds * timing.floor.margin
    (speedup,) = timing.speedups
    assert speedup.over == "eager" and speedup.low <= speedup.ratio <= speedup.high
    assert timing.settings["seed"] == large.first.seed and timing.settings["threads"] >= 1


def test_a_slower_kernel_is_slower(clock: Callable[..., Timing], baselines: Baselines) -> None:
    timing = clock(f"time.sleep(0.2)\n{HONEST}", baselines=baselines)
    assert timing.speedups[0].result == "slower"
    assert timing.median("kernel") > 0.2


CLOCKS = {
    "a clock that stands still": """
        import time
        time.perf_counter = time.monotonic = time.time = lambda: 1.0
        """,
    "a keeper that is told that all is done": """
        from akg_core.worker import child, timekeeper
        said = timekeeper.Turns.done
        timekeeper.Turns.done = lambda self, addresses=(): said(self, addresses)
        """,
}


@pytest.mark.parametrize("name", CLOCKS)
def test_no_clock_of_the_kernels_own_process_counts(clock: Callable[..., Timing], name: str) -> None:
    """A kernel that sleeps for 50 ms takes them, whatever it does to the clocks that it finds."""
    timing = clock(f"time.sleep(0.05)\n{HONEST}", CLOCKS[name])
    assert timing.status == "cheating" or min(timing.measurements[0].samples) > 0.05, timing


LIES = {
    "remembers by address": (
        """
        if x.data_ptr() not in self.kept:
            self.kept[x.data_ptr()] = kernel(x, self.scale, torch.empty_like(x))
        return self.kept[x.data_ptr()].clone()
        """,
        "",
        "incorrect",
        "While it was timed",
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
        "While it was timed",
    ),
    "computes when its parameter was written to": (
        """
        if self.scale._version not in self.kept:
            self.kept[self.scale._version] = kernel(x, self.scale, torch.empty_like(x))
        return self.kept[self.scale._version].clone()
        """,
        "",
        "incorrect",
        "While it was timed",
    ),
    "computes when its input was written to by the library": (
        """
        before = self.kept.get(x.data_ptr(), (None, None))
        if before[0] != x._version:
            before = self.kept[x.data_ptr()] = (x._version, kernel(x, self.scale, torch.empty_like(x)))
        return before[1].clone()
        """,
        "",
        "incorrect",
        "While it was timed",
    ),
    "gives the memory of one answer for all": (
        """
        y = self.kept.setdefault("answer", torch.empty_like(x))
        self.calls < 3 and kernel(x, self.scale, y)
        return y
        """,
        "",
        "incorrect",
        "While it was timed",
    ),
    "changes its input": (HONEST.replace("return", "x.data[0, 0] = 3.0\nreturn"), "", "incorrect", "changed argument"),
    "crashes while timed": ("if self.calls > 5: ctypes.string_at(0)\n" + HONEST, "", "failed", "SIGSEGV"),
    "says that it was timed": (
        HONEST,
        """
        from akg_core.judge.candidate import harness
        from akg_core.records import ProfileReport
        harness.take_turns = lambda *_, **__: None
        """,
        "cheating",
        "changes the harness",
    ),
    "takes no turns": (
        """
        import sys
        frame = sys._getframe()
        while frame.f_back and "turns" not in frame.f_locals:
            frame = frame.f_back
        if self.calls > 2:
            frame.f_locals["turns"]._clock.close()
        """
        + HONEST,
        "",
        "failed",
        "",
    ),
}


@pytest.mark.parametrize("name", LIES)
def test_lies_about_time(clock: Callable[..., Timing], name: str) -> None:
    body, head, status, reason = LIES[name]
    timing = clock(body, head)
    assert (timing.status, reason in timing.reason) == (status, True), timing


def test_what_a_call_leaves_in_the_module_makes_no_honest_kernel_wrong(
    pool: Pool, capture: Callable[..., Task], toy: Path, tmp_path: Path
) -> None:
    """Each call adds to a count that its answer depends on, and begins with the count of the case."""
    source = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        self.count.add_(1)
        return x + self.count


def get_inputs():
    return [torch.rand(3, 4)]


def get_init_inputs():
    return []
"""
    body = """
numbers = lambda t: (ctypes.c_float * t.numel()).from_address(t.data_ptr())
numbers(self.count)[0] += 1
y = torch.empty_like(x)
numbers(y)[:] = [value + numbers(self.count)[0] for value in numbers(x)]
return y
"""
    with prepare(pool, capture(source), tmp_path / "prepared") as prepared:
        artifact = kernels.kernel(tmp_path / "kernel", toy, source, body)
        timing = measure(pool, prepared, "toy", artifact, CPU, seconds=0.2)
    assert timing.status == "ok", timing


def test_what_a_kernel_remembers_by_content_is_never_asked_again(clock: Callable[..., Timing]) -> None:
    """Each row that it was given, in any call and any turn, is another."""
    timing = clock(
        f"""
        for row in (x[0], x[-1]):
            number = hash(row.numpy().tobytes())
            if number in self.kept:
                time.sleep(0.5)
            self.kept[number] = True
        {HONEST}
        """
    )
    assert timing.status == "ok" and max(timing.measurements[0].samples) < 0.5, timing


def test_what_is_physically_impossible_is_refused(
    clock: Callable[..., Timing], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine that could move a megabyte a second, the honest kernel would be too fast to be true."""
    slow = Machine(
        processor="slow",
        cache_bytes=32 << 20,
        bytes_per_second={1 << 20: 1e6},
        operations_per_second=1e12,
    )
    monkeypatch.setattr(floor, "machine", lambda *_, **__: slow)
    timing = clock()
    assert timing.status == "impossible"
    assert "this machine needs" in timing.reason


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


def test_an_interval_holds_what_the_shortest_samples_say_where_most_were_disturbed() -> None:
    slices = [[25e-3, 25.1e-3, 24.9e-3], [25e-3, 8e-6, 25.2e-3]]
    kernel = [[16e-6, 15e-6, 17e-6], [16e-6, 16e-6, 15e-6]]
    low, high = statistics.undisturbed(slices, kernel, 1500.0, 1600.0)
    assert low == pytest.approx(8 / 15) and high == 1600.0
    assert statistics.undisturbed(kernel, kernel, 0.9, 1.1) == (0.9, 1.1)


def test_the_floor_is_the_larger_of_memory_and_arithmetic() -> None:
    machine = Machine(
        processor="",
        cache_bytes=32 << 20,
        bytes_per_second={1 << 20: 1e11, 1 << 28: 1e10},
        operations_per_second=1e12,
    )
    large = floor.floor(machine, Preparation(draws=(), minimum_bytes=1 << 30, operations=1e9))
    assert large.limited_by == "memory" and large.seconds == pytest.approx((1 << 30) / 1e10)
    small = floor.floor(machine, Preparation(draws=(), minimum_bytes=1 << 20, operations=1e10))
    assert small.limited_by == "arithmetic" and small.seconds == pytest.approx(1e-2)
    assert small.bytes_per_second == 1e11, "what fits a cache moves as fast as a cache"
    assert floor.floor(machine, Preparation(draws=())) is None


def test_the_machine_is_measured_once_a_day(pool: Pool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = floor.machine(pool)
    assert all(rate > 1e8 for rate in first.bytes_per_second.values()) and first.operations_per_second > 1e9
    (path,) = tmp_path.glob("**/machine-*.json")
    slower = first.model_copy(update={"operations_per_second": 1.0, "turn_seconds": 9.0})
    write_whole(path, slower)
    os.utime(path, (0, time.time() - 2 * 24 * 3600))
    later = floor.machine(pool)
    assert later.operations_per_second > 1e9 and later.turn_seconds < 9, "what is old is measured again"
    write_whole(path, later.model_copy(update={"waited": 0.5, "turn_seconds": 9.0}))
    os.utime(path, (0, time.time() - 3600))
    assert floor.machine(pool).turn_seconds < 9, "and so is what was measured on a busy machine"
    monkeypatch.setattr(pool, "call", None)
    assert floor.machine(pool).turn_seconds < 9


def test_a_device_is_held_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with exclusively("cpu"), (tmp_path / "akg-core" / "cpu.lock").open("w") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_the_fastest_turn_is_among_those_that_are_compared(tmp_path: Path) -> None:
    """Who is wrong in most turns, to gain in the median, is wrong in the fastest."""
    checked: list[int] = []
    right = Comparison(outputs=(), unexpected=(), error="")
    prepared = SimpleNamespace(
        ready=lambda: SimpleNamespace(eager_seconds=1.0),
        check=lambda fresh, number, file, place: checked.append(number) or right,
    )
    with outside._Answers(prepared) as answers:
        for turn, seconds in enumerate((3.0, 1.0, 2.0, 5.0, 4.0)):
            kept = Kept(tmp_path / str(turn), numbers=(turn,))
            kept.file.touch()
            with contextlib.ExitStack() as files:
                answers.offer(None, files.enter_context(kept), (seconds,), files.pop_all())
        assert answers.wrong() == "" and checked[0] == 1 and len(checked) == 2
        assert sum((tmp_path / str(turn)).exists() for turn in range(5)) in (1, 2)
