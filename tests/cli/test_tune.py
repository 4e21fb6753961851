from __future__ import annotations

import importlib.metadata
import json
import sqlite3
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from akg_core.stages import stages
from tests.cli.conftest import PLUGIN, needs_compiler
from tests.cli.test_start import COMMAND
from tests.registry.distributions import install

pytestmark = needs_compiler

SKETCH = """@kernel
def add(a: In["f32", "M", "N"], b: In["f32", "M", "N"], y: Out["f32", "M", "N"],
        BM: Tune[1, 8, 64] = 1, BN: Tune[16, 37] = 37):
    for m in grid(M, BM):
        for n in tiles(N, BN):
            store(y[m, n], load(a[m, n]) + load(b[m, n]))
"""


@pytest.fixture
def tune(akg, reference, tmp_path, monkeypatch):
    from akg_core.search import tune as search

    monkeypatch.setattr(search, "ROOFLINE", 0.0)  # how near a busy machine comes to it is chance
    (tmp_path / "mine.py").write_text(SKETCH)

    def call(seconds: float):
        options = ["--sketch", "mine.py", "--archive", "archive.sqlite", "--out", "out", "--no-baseline"]
        return akg("tune", "--plugin", PLUGIN, reference, *options, "--seconds", seconds, "--json")

    return call


def said(ended) -> str:
    return next(stage["note"] for stage in json.loads(ended.out)["stages"] if stage["name"] == "search")


def rows(file) -> list[tuple]:
    with sqlite3.connect(file) as archive:
        return archive.execute("select schedule, status, seconds, samples from measurement order by seconds").fetchall()


def test_a_search_measures_the_whole_of_a_small_space_and_keeps_the_best(tune, tmp_path, monkeypatch):
    ended = tune(600)
    assert ended.code == 0, ended.text
    assert "6 of 6 tried" in said(ended) and "nothing is left to try" in said(ended)
    found = rows(tmp_path / "archive.sqlite")
    assert len(found) == 6 and {status for _, status, *_ in found} == {"timed"}
    best = json.loads((tmp_path / "out" / "schedule.json").read_text())["values"]
    assert best == json.loads(found[0][0]), "the kernel of the run is the fastest one"
    assert json.loads(ended.out)["verdict"]["status"] == "correct"
    install(tmp_path, "elsewhere")  # a plugin that has no part in this
    monkeypatch.syspath_prepend(tmp_path)
    assert "elsewhere" in {entry.name for entry in importlib.metadata.entry_points(group="akg")}
    again = tune(600)
    assert again.code == 0 and "6 of 6 tried (6 from before)" in said(again)


def test_a_search_that_was_killed_goes_on(tune, reference, tmp_path):
    file = tmp_path / "archive.sqlite"
    options = ["--sketch", tmp_path / "mine.py", "--archive", file, "--out", tmp_path / "killed", "--seconds", "600"]
    command = [COMMAND, "tune", "--plugin", PLUGIN, reference, *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as killed:
        for _ in range(6000):
            time.sleep(0.05)
            if killed.poll() is not None or (file.exists() and _count(file)):
                break
        killed.kill()
    before = len(rows(file))
    assert before
    ended = tune(600)
    assert ended.code == 0 and f"6 of 6 tried ({before} from before)" in said(ended), said(ended)


def _count(file) -> int:
    try:
        return len(rows(file))
    except sqlite3.OperationalError:  # the table is not there yet
        return 0


def test_a_candidate_that_is_wrong_is_not_kept(tune, tmp_path, monkeypatch):
    """The fastest one is spoilt after the search: the next one takes its place, and the archive says why."""
    from akg_core.search.tune import Search

    ranking, spoilt = Search.ranking, []

    def spoil(search):
        found = ranking(search)
        spoilt.append(found[0].schedule.values)
        return [replace(found[0], folder=None), *found[1:]]

    def emitted(pool, request, design, schedule):
        source, findings = emit(pool, request, design, schedule)
        if spoilt and schedule.values == spoilt[0]:
            name = next(iter(source.line_map)).rpartition(":")[0]
            text = source.files[name].replace(" + ", " - ")
            source = source.model_copy(update={"files": {**source.files, name: text}})
        return source, findings

    emit = stages.emit
    monkeypatch.setattr(stages, "emit", emitted)
    monkeypatch.setattr(Search, "ranking", spoil)
    ended = tune(600)
    found = rows(tmp_path / "archive.sqlite")
    wrong = [json.loads(schedule) for schedule, status, *_ in found if status == "incorrect"]
    assert wrong == spoilt, "what was refused is not tried again"
    assert ended.code == 0 and json.loads(ended.out)["verdict"]["status"] == "correct"
    assert json.loads((tmp_path / "out" / "schedule.json").read_text())["values"] not in wrong


def test_a_run_tunes_when_asked_and_a_second_one_finds_it_done(akg, reference, tmp_path):
    (tmp_path / "mine.py").write_text(SKETCH)
    options = ["--sketch", "mine.py", "--archive", "archive.sqlite", "--no-baseline", "--json"]
    first = akg("run", "--plugin", PLUGIN, reference, *options, "--tune", 60)
    assert first.code == 0, first.text
    result = json.loads(first.out)
    assert [stage["name"] for stage in result["stages"]] == ["capture", "design", "search", "verify", "time"]
    assert 1 <= result["tuned"]["tried"] <= 6 and result["tuned"]["first"] >= result["tuned"]["best"] > 0
    names = ("sketch.py", "schedule.json", "build.log", "kernel/model_new.py", "kernel/reference.py")
    assert all((Path(result["folder"]) / name).exists() for name in names), "a kernel that was built is taken over"
    before = rows(tmp_path / "archive.sqlite")
    again = json.loads(akg("run", "--plugin", PLUGIN, reference, *options, "--tune", 60).out)
    assert rows(tmp_path / "archive.sqlite") == before, "nothing is measured again"
    assert again["tuned"]["seconds"] < 1 and again["tuned"]["best"] == result["tuned"]["best"]
    plain = json.loads(akg("run", "--plugin", PLUGIN, reference, *options).out)
    assert plain["tuned"] is None, "nobody asked, and the plugin does not advise it"
