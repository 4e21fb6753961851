"""A suite of two small tasks, run whole and gone on with after it was ended; what runs beside what."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest

from akg_core.bench import runner, suite
from akg_core.bench.memory import Memory
from akg_core.bench.results import Results
from akg_core.records import Target
from akg_core.stages.stages import Request
from akg_core.storage import write_whole
from tests.cli.conftest import ADD, PLUGIN, needs_compiler


@pytest.fixture
def problems(tmp_path):
    folder = tmp_path / "pointwise"
    folder.mkdir()
    (folder / "add.py").write_text(ADD)
    (folder / "bessel.py").write_text(ADD.replace("a + b", "torch.special.bessel_j0(a) + b"))
    return suite.files([folder])


@needs_compiler
def test_a_run_goes_on_where_it_was_ended(problems, tmp_path):
    out, told = tmp_path / "out.json", []
    request = Request(reference=problems[0].path, plugin=PLUGIN, target=Target(backend="cpu"))
    plan = runner.Plan("files", ("eager",), 0.1, 2, examine=True, kernels=3, folder=tmp_path / "runs")

    def tell(row, place, of):
        told.append((row.name, place, of))
        assert row in Results(**json.loads(out.read_text())).rows, "what is told is kept already"

    whole = runner.run(problems, request, plan, out, tell)
    assert told == [("add", 1, 2), ("bessel", 2, 2)]
    add, bessel = whole.rows
    assert add.status == "correct" and add.ratio("eager") > 0 and add.median_ms["kernel"] > 0 and not add.weak
    assert bessel.status == "refused" and bessel.captured and "torch.special.bessel_j0" in bessel.reason
    assert Results(**json.loads(out.read_text())) == whole and whole.machine["cores"] >= 1
    assert whole.finished and whole.kernels == 3

    cut_short = whole.model_copy(update={"rows": whole.rows[:1], "finished": False})
    write_whole(out, cut_short)
    told.clear()
    again = runner.run(problems, request, plan, out, tell)
    assert told == [("bessel", 2, 2)] and again.rows[0] == add
    assert again.seconds > whole.seconds, "of both runs"

    write_whole(out, cut_short)
    told.clear()
    runner.run(problems, replace(request, seed=1), plan, out, tell)
    assert len(told) == 2, "another seed is another run"


class Recorded:
    """A contest that only notes what is asked of it, in `steps`."""

    steps: ClassVar[list[str]] = []
    is_correct = True
    need, room = 10, 20
    starved: ClassVar[set[str]] = set()  # who run out of memory, until they are made again
    refused: ClassVar[set[str]] = set()  # whose kernels are, until another variant is built

    def __init__(self, problem, request, pool, folder):
        self.name, self.cast, self.pipeline = problem.name, self, SimpleNamespace(pool=pool)

    @property
    def ran_out(self):
        return self.name in self.starved

    @property
    def has_other(self):
        return self.name in self.refused

    def again(self, alone):
        self.starved.discard(self.name)
        self.steps.append(f"again {self.name}")

    def rebuild(self):
        self.refused.discard(self.name)
        self.steps.append(f"rebuild {self.name}")
        return self

    def has_run(self, seconds):
        """When that is depends on other threads."""

    def rest(self):
        self.steps.append(f"rest {self.name}")
        return not (self.ran_out or self.has_other)

    def __getattr__(self, step):
        return lambda *given, **options: self.steps.append(f"{step} {self.name}")


@pytest.fixture
def steps(monkeypatch, tmp_path):
    """What a way of putting contests side by side does for the problems a, b and c, two at a time."""
    monkeypatch.setattr(runner, "Contest", Recorded)
    monkeypatch.setattr(runner, "RunFolder", Path)
    monkeypatch.setattr(Recorded, "steps", [])

    def walk(way, tune=0.0):
        waiting = [(SimpleNamespace(name=name, group="g"), None) for name in "abc"]
        pool = SimpleNamespace(spare=SimpleNamespace(close=lambda: Recorded.steps.append("nothing spare")))
        for contest in way(waiting, pool, runner.Plan("suite", together=2, tune=tune, folder=tmp_path)):
            contest.show()
        return Recorded.steps

    return walk


def test_on_the_host_nothing_runs_while_a_kernel_is_timed(steps):
    taken = steps(runner._side_by_side)
    first = taken.index("clock a")
    judged = ("build", "refer", "warm", "judge", "settle")
    assert sorted(taken[:first]) == sorted(f"{s} {n}" for s in judged for n in "ab")
    assert taken[first:] == [
        *("clock a", "show a", "close a", "clock b", "show b", "close b"),
        *("build c", "refer c", "warm c", "judge c", "settle c", "clock c", "show c", "close c"),
    ]


def test_without_a_clock_no_task_waits_for_another(steps, monkeypatch):
    begun = threading.Event()

    def judge(contest):
        assert contest.name != "a" or begun.wait(60), "c begins while a is being judged"
        if contest.name == "c":
            begun.set()
        contest.steps.append(f"judge {contest.name}")

    monkeypatch.setattr(Recorded, "judge", judge, raising=False)
    taken = steps(lambda *given: runner._each_as_it_ends(*given, runner._judge))
    for name in "abc":
        judged = [step for step in taken if step.endswith(name)]
        alone = ("build", "refer", "warm", "judge", "settle", "retire", "close", "show", "close")
        assert judged == [f"{s} {name}" for s in alone]
    assert taken.index("show b") < taken.index("judge a"), "what has ended is told"


def on_a_device_without_a_clock(*given):
    return runner._each_as_it_ends(*given, runner._judge_on_device)


def test_on_a_device_without_a_clock_no_task_waits_for_another_that_it_fits_beside(steps, monkeypatch):
    begun = threading.Event()

    def judge(contest, tries=1):
        assert contest.name != "a" or begun.wait(60), "c begins while a is being judged"
        if contest.name == "c":
            begun.set()
        contest.steps.append(f"judge {contest.name}")

    monkeypatch.setattr(Recorded, "judge", judge, raising=False)
    taken = steps(on_a_device_without_a_clock)
    for name in "abc":
        judged = [step for step in taken if step.endswith(name)]
        assert judged == [
            f"{s} {name}" for s in ("build", "start", "refer", "judge", "examined", "retire", "close", "show", "close")
        ]
    assert taken.index("show b") < taken.index("judge a"), "what has ended is told"


@pytest.mark.parametrize(("room", "parts"), [(20, [10, 10, 10, 10, 20]), (0, [1, 1, 1, 1, 2])])
def test_without_a_clock_who_runs_out_of_memory_has_all_of_it_then(steps, monkeypatch, room, parts):
    monkeypatch.setattr(Recorded, "room", room)
    held = []

    class Watched(Memory):
        def held(self, need, room):
            held.append(need)
            return super().held(need, room)

    monkeypatch.setattr(Recorded, "starved", {"a"})
    monkeypatch.setattr(Recorded, "refused", {"c"})
    monkeypatch.setattr(runner, "Memory", Watched)
    taken = steps(on_a_device_without_a_clock)
    assert sorted(held) == parts, "bytes of a device, or of two parts of the host"
    assert taken.index("close a") < taken.index("again a") < taken.index("show a")
    assert taken.index("close c") < taken.index("rebuild c") < taken.index("show c")


def test_memory_that_is_lent_fits_and_nobody_is_passed_by():
    memory, begun, most, now = Memory(), [], [0], [0]

    def take(name, need):
        with memory.held(need, 10):
            begun.append(name)
            now[0] += need
            most[0] = max(most[0], now[0])
            go.wait(60)
            now[0] -= need

    go = threading.Event()
    threads = [threading.Thread(target=take, args=each) for each in (("a", 6), ("b", 4), ("large", 30), ("c", 1))]
    for thread in threads:
        thread.start()
        time.sleep(0.05)
    assert begun == ["a", "b"], "c, which fits, is behind one that does not"
    go.set()
    for thread in threads:
        thread.join(60)
    assert begun == ["a", "b", "large", "c"]
    assert most[0] == 30, "who needs more than there is has it alone"


def on_a_device(*given):
    """What runs there, begun when all is built."""

    def wait() -> None:
        while sum(step.startswith("build") for step in Recorded.steps) < len(given[0]):
            time.sleep(0.01)
        time.sleep(0.3)  # till the threads have said so

    return runner._group_by_group(*given, measure=wait)


TIMED = ("start", "refer", "judge", "examined", "begin", "settle", "clock", "rest")


def test_on_a_device_those_that_fit_are_judged_at_once_and_timed_one_by_one(steps):
    taken = steps(on_a_device)
    for name in "abc":
        judged = [step for step in taken if step.endswith(name)]
        before = ("start", "started") * (name == "c")
        assert judged == [f"{s} {name}" for s in ("build", *before, *TIMED, "show", "close")]
    assert max(taken.index("settle a"), taken.index("settle b")) < taken.index("clock a")
    assert taken.index("rest a") < taken.index("clock b") and taken.index("rest b") < taken.index("refer c")


def test_a_variant_that_is_refused_makes_room_until_another_is_built(steps, monkeypatch):
    monkeypatch.setattr(Recorded, "refused", {"a"})
    taken = steps(on_a_device)
    assert taken.index("close a") < taken.index("rebuild a") < len(taken) - 1 - taken[::-1].index("judge a")
    assert taken.count("judge a") == 2 and [taken.count(f"show {name}") for name in "abc"] == [1, 1, 1]


def test_on_a_device_small_tasks_are_judged_beside_a_large_one_whatever_their_order(steps, monkeypatch):
    monkeypatch.setattr(Recorded, "need", property(lambda self: 15 if self.name == "b" else 10))
    taken = steps(on_a_device)
    assert max(taken.index("settle a"), taken.index("settle c")) < taken.index("clock a"), (
        "b, which does not fit, waits"
    )
    assert taken.index("rest c") < taken.index("refer b")


def test_while_some_are_judged_the_processes_of_the_next_start_but_not_beside_a_clock(steps):
    taken = steps(on_a_device)
    assert taken.index("start c") < taken.index("clock a")
    assert taken.index("started c") < taken.index("clock a") and taken.index("rest b") < taken.index("refer c")


def test_processes_end_while_nothing_asks_for_memory_and_before_more_start(steps, monkeypatch):
    monkeypatch.setattr(Recorded, "room", 19)
    ran = {name: threading.Event() for name in "abc"}
    monkeypatch.setattr(Recorded, "has_run", lambda contest, seconds: ran[contest.name].wait(60))

    def judge(contest, tries=1):
        contest.steps.append(f"judge {contest.name}")
        ran[contest.name].set()

    monkeypatch.setattr(Recorded, "judge", judge, raising=False)
    taken = steps(on_a_device)
    assert taken.index("show a") < taken.index("judge b") < taken.index("close a") < taken.index("start c")


def test_on_a_device_those_that_do_not_fit_are_judged_alone(steps, monkeypatch):
    monkeypatch.setattr(Recorded, "room", 19)
    taken = steps(on_a_device)
    assert taken.index("rest a") < taken.index("refer b") and taken.index("rest b") < taken.index("refer c")


def test_on_a_device_nothing_waits_for_what_is_built_later(steps, monkeypatch):
    judged = threading.Event()

    def build(contest, *_):
        contest.steps.append(f"build {contest.name}")
        assert contest.name != "b" or judged.wait(60), "a is judged while b is being built"

    def judge(contest, tries=1):
        contest.steps.append(f"judge {contest.name}")
        judged.set()

    monkeypatch.setattr(Recorded, "build", build, raising=False)
    monkeypatch.setattr(Recorded, "judge", judge, raising=False)
    taken = steps(on_a_device)
    assert sorted(step for step in taken if step.startswith("show")) == ["show a", "show b", "show c"]


def test_who_runs_out_of_memory_beside_others_is_judged_again_alone(steps, monkeypatch):
    monkeypatch.setattr(Recorded, "starved", {"a"})
    taken = steps(on_a_device)
    first, second = (index for index, step in enumerate(taken) if step == "start a")
    again = [step for step in taken[second - 1 :] if step.endswith(" a")]
    assert again == [f"{s} a" for s in ("again", *TIMED, "show", "close")]
    assert taken.index("close a") < taken.index("rest b") < taken.index("close b") < second < taken.index("refer c")
    assert taken.count("show a") == 1 and first < taken.index("clock b")
    assert taken[second - 2] == "nothing spare"  # what others may be asked for again would take memory


def test_who_runs_out_of_memory_alone_is_judged_again_too(steps, monkeypatch):
    monkeypatch.setattr(Recorded, "room", 19)
    monkeypatch.setattr(Recorded, "starved", {"a"})
    taken = steps(on_a_device)
    assert taken.index("again a") < taken.index("show a") and taken.count("show a") == 1


def test_nothing_is_spare_beside_a_task_that_takes_more_than_there_is(steps, monkeypatch):
    monkeypatch.setattr(Recorded, "need", property(lambda self: 25 if self.name == "b" else 10))
    taken = steps(on_a_device)
    assert taken.count("nothing spare") == 1 and taken.index("show a") < taken.index("nothing spare") < taken.index(
        "judge b"
    )


def test_beside_a_task_that_takes_more_than_there_is_one_other_starts(steps, monkeypatch):
    monkeypatch.setattr(Recorded, "need", property(lambda self: 25 if self.name == "a" else 10))
    monkeypatch.setattr(runner, "wait", lambda building, return_when: [future.result() for future in building])
    taken = steps(on_a_device)
    assert taken.index("start b") < taken.index("clock a") < taken.index("start c")


def test_the_device_is_measured_while_nothing_runs_there(steps):
    taken = steps(lambda *given: runner._group_by_group(*given, measure=lambda: Recorded.steps.append("measure")))
    assert taken.index("measure") < min(taken.index(f"start {name}") for name in "abc")


def test_searches_have_the_device_to_themselves_and_what_they_found_is_judged(steps):
    taken = steps(on_a_device, tune=5.0)
    first = taken.index("tune a")
    assert first > max(taken.index("refer_and_wait a"), taken.index("refer_and_wait b"))
    assert [step for step in taken if step.startswith("tune")] == ["tune a", "tune b", "tune c"]
    assert taken.index("tune b") < min(taken.index(step) for step in ("judge a", "judge b", "start c"))
    for name in "abc":
        assert taken.index(f"judge {name}") < taken.index(f"clock {name}")


def test_on_the_host_nothing_runs_while_a_search_does(steps):
    taken = steps(runner._side_by_side, tune=5.0)
    first = taken.index("tune a")
    assert sorted(taken[:first]) == ["build a", "build b", "refer_and_wait a", "refer_and_wait b"]
    assert taken[first : first + 2] == ["tune a", "tune b"]
