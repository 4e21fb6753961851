from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from akg_core.search.archive import Archive

SCOPE = ("task", "machine", "versions")


def test_measurements_come_back_the_fastest_first_and_failures_last(tmp_path):
    archive = Archive(str(tmp_path / "deep" / "a.sqlite"), *SCOPE)
    archive.record("s", {"x": 1}, "timed", seconds=2.0, samples=[2.0, 2.1])
    archive.record("s", {"x": 2}, "build failed", reason="no such header")
    archive.record("s", {"x": 3}, "timed", seconds=1.0)
    assert [row.schedule for row in archive.rows()] == ['{"x": 3}', '{"x": 1}', '{"x": 2}']
    assert archive.rows()[1].samples == [2.0, 2.1]


def test_measuring_a_candidate_again_replaces_its_row(tmp_path):
    archive = Archive(str(tmp_path / "a.sqlite"), *SCOPE)
    archive.record("s", {"x": 1, "y": 2}, "timed", seconds=2.0)
    archive.record("s", {"y": 2, "x": 1}, "incorrect")
    (row,) = archive.rows()
    assert row.status == "incorrect" and row.seconds is None


def test_another_task_machine_or_version_is_another_scope(tmp_path):
    file = str(tmp_path / "a.sqlite")
    Archive(file, *SCOPE).record("s", {}, "timed", seconds=1.0)
    assert len(Archive(file, *SCOPE).rows()) == 1
    for other in (("other", "machine", "versions"), ("task", "other", "versions"), ("task", "machine", "other")):
        assert Archive(file, *other).rows() == []


def test_many_searches_may_begin_a_file_at_once(tmp_path):
    gate = threading.Barrier(8)

    def begin(file, number):
        gate.wait()
        archive = Archive(str(file), f"task {number}", "machine", "versions")
        archive.record("s", {}, "timed", seconds=1.0)
        return archive.spent("designs", 2.0), len(archive.rows())

    with ThreadPoolExecutor(8) as threads:
        for file in (tmp_path / f"{count}.sqlite" for count in range(15)):
            assert list(threads.map(begin, [file] * 8, range(8))) == [(2.0, 1)] * 8


def test_rows_survive_a_kill_in_the_middle_of_writing(tmp_path):
    file = str(tmp_path / "a.sqlite")
    script = f"""
from akg_core.search.archive import Archive
archive = Archive({file!r}, "task", "machine", "versions")
for number in range(10_000):
    archive.record("s", {{"x": number}}, "timed", seconds=float(number))
    print(number, flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as writer:
        last = [int(writer.stdout.readline()) for _ in range(20)][-1]
        writer.kill()
    archive = Archive(file, *SCOPE)
    assert len(archive.rows()) > last
    archive.record("s", {"x": -1}, "timed", seconds=-1.0)
    assert archive.rows()[0].schedule == '{"x": -1}'
