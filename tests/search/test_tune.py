"""A search over two sketches whose builds, times and verdicts the test makes up."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from akg_core.judge.records import Verdict
from akg_core.judge.timing.floor import Machine
from akg_core.lower.resources.work import Work
from akg_core.records import (
    Artifact,
    Availability,
    Choice,
    CompileResult,
    Interface,
    KernelSource,
    Schedule,
    Shortage,
    Sketch,
    Target,
    Traits,
)
from akg_core.search import tune
from akg_core.search.archive import Archive
from akg_core.search.interleaved import KernelTiming
from akg_core.stages.stages import Design, Request

MACHINE = Machine.model_construct(cache_bytes=1, bytes_per_second={1: 1e9}, operations_per_second=1e12)
READY = SimpleNamespace(minimum_bytes=0, operations=0)
PREPARED = SimpleNamespace(ready=lambda: READY, lends=True)


def design(text: str, sizes: range) -> Design:
    choice = Choice(key=f"{text}.B", choices=tuple(sizes), default=sizes[0])
    return Design(
        sketch=Sketch(name=text, text=text, interface=Interface(arguments=())),
        space=(choice,),
        default=Schedule(values={choice.key: sizes[0]}),
    )


QUICK_BUT_WRONG, RIGHT = design("wrong", range(100, 200)), design("right", range(200, 300))


@pytest.fixture
def world(monkeypatch, tmp_path):
    """What happened: candidates built and timed by their number, and verdicts asked for."""
    world = SimpleNamespace(built=[], timed=[], judged=[], bytes={}, spilled={}, too_large=set(), spills={})

    def number(values):
        (value,) = values.values()
        return value

    def emit(pool, request, of, schedule):
        files = {"model_new.py": str(number(schedule.values))}
        return KernelSource(plugin="toy", target=Target(backend="toy"), files=files), ()

    def build_all(pool, request, builds):
        found = []
        for source, folder in builds:
            value = int(source.files["model_new.py"])
            world.built.append(value)
            details = {"k.spilled_bytes": world.spilled.get(value, 0)}
            if value in world.too_large:
                shortage = Shortage(kernel="right", of="positions", needs=value, has=269)
                found.append(CompileResult(ok=False, seconds=0, shortages=(shortage,)))
                continue
            made, spilled = Artifact(folder=folder), {"right": world.spills.get(value, 0)}
            found.append(CompileResult(ok=True, seconds=0, artifact=made, details=details, spilled=spilled))
        return tuple(found)

    def work(pool, of, schedules):
        moved = [world.bytes.get(number(schedule.values), 1.0) for schedule in schedules]
        return tuple((Work(programs=1, bytes=each, operations=0, kernel="right"),) for each in moved)

    def time_interleaved(context, artifacts):
        values = [int((artifact.folder / "model_new.py").read_text()) for artifact in artifacts]
        world.timed += values
        return [KernelTiming([value * 1e-3]) for value in values]

    def verify(pool, prepared, plugin, artifact, target, *, seconds=0.0):
        value = int((artifact.folder / "model_new.py").read_text())
        world.judged.append(value)
        return Verdict(status="incorrect" if value < 200 else "correct", reason="said so")

    monkeypatch.setattr(tune.stages, "emit", emit)
    monkeypatch.setattr(tune.stages, "build_all", build_all)
    monkeypatch.setattr(tune.stages, "work", work)
    monkeypatch.setattr(tune, "time_interleaved", time_interleaved)
    monkeypatch.setattr(tune, "verify", verify)
    monkeypatch.setattr(tune, "cores", lambda: 8)
    task, pool = SimpleNamespace(source=""), SimpleNamespace(folder=tmp_path)
    request = Request(reference=Path("r.py"), plugin="toy", target=Target(backend="toy"))

    def search(*designs):
        archive = Archive(str(tmp_path / "archive.sqlite"), "task", "machine", "versions")
        return tune.Search(tune.SearchContext(pool, request, task, designs, MACHINE, Traits()), archive)

    world.search = search
    return world


def go_on(search, seconds):
    return search.go_on(PREPARED, seconds, SimpleNamespace(text=""))


def test_before_more_is_built_around_the_best_the_judge_looks_at_it(world):
    search = world.search(QUICK_BUT_WRONG, RIGHT)
    for _ in range(3):
        search._assure(PREPARED)
        search.build()
        search._clock(PREPARED)
    found = search.tuned()
    assert [value >= 200 for value in world.judged] == [False, True], "each sketch once, and only the best of it"
    assert search.best.design == 1 and found.first == 0.2 and found.best == 0.2, "what is wrong counts for nothing"
    later = world.built[8:]
    assert sum(value >= 200 for value in later) > len(later) / 2, "the search goes on around what is right"
    first, *_ = search.ranking()
    assert first.design is RIGHT and search.ranking()[-1].design is QUICK_BUT_WRONG
    assert world.search(QUICK_BUT_WRONG, RIGHT).best == search.best, "the next search knows"


def test_what_was_built_ahead_is_timed_however_long_that_took(world):
    search = world.search(RIGHT)
    assert search.build()
    search._round_seconds = 1000.0
    found = go_on(search, 0.05)
    assert sorted(world.timed) == sorted(world.built) and len(world.timed) == 8 and found.first == 0.2


def test_what_cannot_win_is_not_built_and_what_spills_is_not_timed(world):
    world.bytes = dict.fromkeys(range(250, 300), 1000000000.0)  # 0.25 s at least
    world.spilled = dict.fromkeys(range(201, 220), 4000)
    search = world.search(RIGHT)
    for _ in range(6):
        search.build()
        search._clock(PREPARED)
    assert world.built and max(world.built) < 250 and not set(world.timed) & set(range(201, 220))
    rows = {row.schedule: row for row in search._archive.rows() if row.status == "pruned"}
    said = " ".join(row.reason for row in rows.values())
    assert "alone take 250 ms" in said and "spills 4000 bytes" in said


def test_spilling_is_compared_within_a_sketch_and_the_designers_guess_is_timed(world):
    """A kernel beside the one that counts may spill in every schedule of one sketch, and another has none."""
    world.spilled = dict.fromkeys(range(100, 200), 900) | {100: 2000}
    search = world.search(QUICK_BUT_WRONG, RIGHT)
    search.build()
    search._clock(PREPARED)
    assert 100 in world.timed and sorted(world.timed) == sorted(world.built)


def test_a_sketch_that_cannot_win_is_ranked_last_unless_it_failed(world):
    """It may be the only one that is right."""
    world.bytes = dict.fromkeys(range(200, 300), 1e9)  # 0.25 s at least
    search = world.search(QUICK_BUT_WRONG, RIGHT)
    search._store(tune.Point(0, QUICK_BUT_WRONG.default), "timed", seconds=0.1)
    search.best = search._fastest()
    search.build()
    search._clock(PREPARED)
    assert max(world.timed) < 200
    *_, fastest_left, last = search.ranking()
    assert fastest_left.seconds and last.seconds is None and last.design is RIGHT
    search._store(tune.Point(1, RIGHT.default), "failed", reason="It crashed.")
    assert search.ranking()[-1].design is QUICK_BUT_WRONG


def test_a_search_takes_up_only_what_is_left_of_its_time(world):
    search = world.search(RIGHT)
    go_on(search, 0.1)
    assert search.spent > 0
    again = world.search(RIGHT)
    assert again.spent == search.spent and world.search(RIGHT, QUICK_BUT_WRONG).spent == 0
    before = list(world.timed)
    assert go_on(again, 0.0).tried == search.tuned().tried and world.timed == before


def test_the_archive_is_that_of_a_device_wherever_it_is(tmp_path):
    url = str(tmp_path / "archive.sqlite")
    request = Request(reference=Path("r.py"), plugin="toy", target=Target(backend="toy"))
    task = SimpleNamespace(model_dump=lambda **_: {})

    def scope(device, **details):
        found = Availability(can_compile=True, can_run=True, device=device, details=details)
        return tune.open_archive(url, task, request, found, {})._scope["machine"]

    assert scope("gpu", chip="a") == scope("gpu", chip="a") != scope("gpu", chip="b")
    assert tune.platform.node() in scope("cpu") and tune.platform.node() not in scope("gpu")


def test_a_first_schedule_that_does_not_fit_or_spills_is_tried_with_smaller_tiles(world):
    """Also where a search would else go on anywhere: few of many schedules fit."""
    world.too_large = set(range(270, 300))
    world.spills = dict.fromkeys(range(250, 270), 2)  # bytes, where a launch moves one
    choice = Choice(key="right.B", choices=(*range(200, 300, 25), 299), default=299)
    right = Design(sketch=RIGHT.sketch, space=(choice,), default=Schedule(values={choice.key: 299}))
    search = world.search(right)
    search._moves.propose = lambda count, best, propose=search._moves.propose: propose(1, best)
    while search.build() and world.built[-1] > 225:
        pass
    assert world.built == [299, 275, 250, 225], "and what is spilled no more is not made smaller"
