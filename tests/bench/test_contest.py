"""Contests on a device whose memory is too small for all that are judged at once there."""

from __future__ import annotations

import contextlib
import errno
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from akg_core.bench import contest, runner
from akg_core.bench.contest import Contest
from akg_core.bench.suite import Problem
from akg_core.errors import OutOfMemory, TaskError
from akg_core.judge.records import Timing, Verdict
from akg_core.records import Target
from akg_core.stages.stages import Request

NEED = 10

POOL = SimpleNamespace(spare=SimpleNamespace(close=lambda: None))


class Device:
    """A device with memory for one task, although `room` is told for two. Who comes first stays till another came."""

    room = 2 * NEED

    def __init__(self) -> None:
        self.taken, self.refused = threading.Lock(), threading.Event()

    def judge(self) -> Verdict:
        if not self.taken.acquire(blocking=False):
            self.refused.set()
            raise OutOfMemory("a: the reference did not run. It asked for more memory than it may have.")
        self.refused.wait(20)
        self.taken.release()
        return Verdict(status="correct")


class Pipeline:
    """Stages that take no time, and judging on the device that `device` is."""

    device = Device()

    def __init__(self, request, pool, folder, progress) -> None:
        self.request, self.progress, self.made_kernels, self.verdict = request, progress, 0, None
        self.tuned, self.share, self.notes, self.refused, self.told = None, 1.0, (), (), ()

    @property
    def room(self) -> int:
        return int(self.share * self.device.room)

    def capture(self):
        return SimpleNamespace(notes=(), refused=())

    def design(self, task):
        return (SimpleNamespace(sketch=SimpleNamespace(name="first"), default=None),)

    def build(self, task, candidates):
        self.made_kernels += 1
        return replace(next(iter(candidates)), artifact="artifact")

    def reference(self, task, patient=False):
        return contextlib.nullcontext(SimpleNamespace(begin=lambda: None, started=lambda: None))

    def session(self, prepared, artifact):
        return contextlib.nullcontext(
            SimpleNamespace(loaded=lambda: None, has_run=lambda seconds: None, close=lambda: None)
        )

    def refusals(self, judged):
        return ()

    def accept(self, prepared, candidates, built, tries, session):
        self.verdict = self.device.judge()
        return built


@pytest.fixture
def problems(monkeypatch, tmp_path) -> list[Problem]:
    monkeypatch.setattr(contest, "Pipeline", Pipeline)
    monkeypatch.setattr(Pipeline, "device", Device())
    monkeypatch.setattr(contest, "bytes_on_device", lambda task, room, most: NEED)
    monkeypatch.setattr(contest, "likely_cases", lambda task: 6)
    for name in "ab":
        (tmp_path / f"{name}.py").touch()
    return [Problem(name, tmp_path / f"{name}.py", "group") for name in "ab"]


def test_a_task_whose_memory_ran_out_beside_another_is_judged_again_alone(problems, tmp_path, monkeypatch):
    build = runner._build
    monkeypatch.setattr(runner, "_build", lambda *given: [built for built in build(*given) if built.result()])
    asked = [(problem, Request(problem.path, "none", Target(backend="none"))) for problem in problems]
    plan = runner.Plan("suite", (), together=2, folder=tmp_path / "runs")
    ways = runner._group_by_group(asked, POOL, plan, measure=lambda: None)
    found = [(contest.row(), contest.pipeline.made_kernels) for contest in ways]
    assert [(row.status, made) for row, made in found] == [("correct", 1), ("correct", 1)]
    assert sorted(row.notes for row, _ in found) == [(), ("Judged alone: beside others it ran out of memory.",)]


def test_a_task_whose_memory_runs_out_alone_makes_do_with_half(problems, tmp_path, monkeypatch):
    def judge(contest):
        if contest.pipeline.share == 1:
            raise OutOfMemory("a: the reference did not run. It asked for more memory than it may have.")
        return Verdict(status="correct")

    monkeypatch.setattr(Pipeline, "accept", lambda self, prepared, candidates, *given: given[0])
    monkeypatch.setattr(Contest, "judge", lambda self, tries: _judged(self, judge))
    asked = [(problems[0], Request(problems[0].path, "none", Target(backend="none")))]
    plan = runner.Plan("suite", (), folder=tmp_path / "runs")
    [row] = [contest.row() for contest in runner._group_by_group(asked, POOL, plan, measure=lambda: None)]
    assert row.status == "correct"
    assert row.notes == ("Judged again in half of the memory: it ran out of it.",)


def _judged(contest, judge) -> None:
    with contest._failing():
        contest.verdict = judge(contest)


@pytest.mark.parametrize(
    "found",
    [
        {"error": OutOfMemory("Judging it takes about 9 GiB of memory, and 3 GiB are free.")},
        {"verdict": Verdict(status="incorrect", reason="In 1 of 3 cases: it raised OutOfMemoryError: out of memory.")},
        {"verdict": Verdict(status="correct", notes=("The reference does not take large (CUDA out of memory).",))},
        {"timing": Timing(status="failed", reason="OutOfMemoryError: CUDA out of memory.")},
        {"error": TaskError("forward raises RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED.")},
        {"timing": Timing(status="ok", unavailable={"eager": "CUDA out of memory."})},
        {"error": TaskError("TensorFileError: inputs is not a file of tensors: CUDA out of memory.")},
    ],
)
def test_memory_that_is_too_little_is_seen_wherever_it_shows(problems, tmp_path, found):
    one = Contest(problems[0], Request(problems[0].path, "none", Target(backend="none")), None, Path(tmp_path))
    one.error = TaskError("Something else.")
    assert not one.ran_out
    for name, value in found.items():
        setattr(one, name, value)
    assert one.ran_out
    one.rebuild()
    assert not one.ran_out, "there is no other kernel to judge, so what was found stays"


@pytest.mark.parametrize(
    ("step", "fails"), [("design", lambda self, task: 1 // 0), ("accept", lambda self, *given: 1 // 0)]
)
def test_a_fault_of_ours_is_in_the_row_of_its_task_alone(problems, tmp_path, monkeypatch, step, fails):
    monkeypatch.setattr(Pipeline, step, fails)
    asked = [(problem, Request(problem.path, "none", Target(backend="none"))) for problem in problems]
    plan = runner.Plan("suite", (), folder=tmp_path / "runs")
    rows = [each.row() for each in runner._each_as_it_ends(asked, POOL, plan, runner._judge)]
    assert [row.status for row in rows] == ["failed", "failed"]
    assert all("Something unforeseen: ZeroDivisionError" in row.reason for row in rows)


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), ZeroDivisionError()])
def test_a_full_disk_ends_all_and_a_fault_that_one_looks_for(problems, tmp_path, monkeypatch, error):
    def full(self, task):
        raise error

    monkeypatch.setenv("AKG_DEBUG", "1")
    monkeypatch.setattr(Pipeline, "design", full)
    one = Contest(problems[0], Request(problems[0].path, "none", Target(backend="none")), None, Path(tmp_path))
    with pytest.raises(type(error)):
        one.build()
    monkeypatch.delenv("AKG_DEBUG")
    with pytest.raises(OSError) if isinstance(error, OSError) else contextlib.nullcontext():
        one.build()


def test_a_task_is_examined_by_one_thread(problems, tmp_path):
    asked = []

    def call(function, payload, limits):
        asked.append((function, limits.threads))
        return SimpleNamespace(status="ok", unwrap=lambda: {"findings": []})

    one = Contest(problems[0], Request(problems[0].path, "none", Target(backend="none")), None, Path(tmp_path))
    one.pipeline.pool = SimpleNamespace(call=call)
    one.build(examine=True)
    assert asked == [("akg_core.task.examine:examine_job", 1)]


def test_a_kernel_that_is_wrong_while_it_is_timed_is_followed_by_another(problems, tmp_path, monkeypatch):
    one = Contest(problems[0], Request(problems[0].path, "none", Target(backend="none")), None, Path(tmp_path))
    one.verdict, one._judged = Verdict(status="correct"), "judged"
    one.cast = SimpleNamespace(entrant=True, prepared=True, baselines=None)
    says = [Timing(status="ok"), Timing(status="incorrect", reason="While it was timed, it was wrong.")]
    monkeypatch.setattr(contest, "clock", lambda *given, seconds: says.pop(0))
    refused = []

    def refuse(judged, timing):
        refused.append((judged, timing.status))

    one.pipeline = SimpleNamespace(
        pool=None, target=None, folder=SimpleNamespace(write=lambda *given: None), refuse=refuse, refused=()
    )
    one.clock(1.0)
    assert not one.has_other
    one.clock(1.0)
    assert one.has_other and refused == [("judged", "ok"), ("judged", "incorrect")]
