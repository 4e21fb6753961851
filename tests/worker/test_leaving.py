"""Nothing is left behind, whoever is killed and whenever: no process, no folder, and nobody who waits for ever."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from akg_core.worker import folders, pool, zygote
from akg_core.worker.pool import Pool

ROOT = Path(__file__).parents[2]
ECHO = "tests.worker.jobs:echo"


def python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"TMPDIR": str(folder)}
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """The folder of temporary files, for this process too."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("late", [True, False])
def test_a_child_ends_with_a_parent_that_is_killed_before_the_child_could_ask_for_it(tmp_path, late):
    """The child is slow to ask; its parent is ended meanwhile, or when it has asked: then the kernel ends the child."""
    code = f"""
import signal, time
from pathlib import Path
from types import SimpleNamespace
from akg_core.worker import isolation
libc = isolation._libc
isolation._libc = SimpleNamespace(prctl=lambda *given: (time.sleep(0.4), libc.prctl(*given)))
signal.setitimer(signal.ITIMER_REAL, 0.1 if {late} else 0)
if isolation.fork() == 0:
    Path({str(tmp_path / "lives")!r}).touch()
    time.sleep(60)
print("asked")
"""
    ended = python(code, tmp_path)
    time.sleep(0.5)
    assert (ended.returncode, "asked" in ended.stdout) == ((-14, False) if late else (0, True)), ended.stderr
    assert not (late and (tmp_path / "lives").exists())


def test_what_two_killed_processes_leave_is_swept_at_the_next_start_and_nothing_else(temporary):
    code = """
import os, sys
from akg_core.worker.pool import Pool
pool = Pool(warm=())
pool.call("tests.worker.jobs:echo", {})
(pool.folder / "cases").mkdir(mode=0o300)
pool._zygote.kill()
os.kill(os.getpid(), 9)
"""
    python(code, temporary)
    (left,) = temporary.iterdir()
    (temporary / "mine").mkdir()
    (temporary / "akg-pool-link").symlink_to(temporary / "mine")
    with Pool(warm=()) as one:
        assert not left.exists() and (temporary / "mine").exists(), "a link is not followed"
        with Pool(warm=()) as other:
            assert one.call(ECHO, {}).status == other.call(ECHO, {}).status == "ok"
    assert {path.name for path in temporary.iterdir()} == {"mine", "akg-pool-link"}


def test_a_folder_that_is_swept_while_it_is_made_is_made_again(temporary, monkeypatch):
    names = []
    flock = folders.fcntl.flock

    def swept_first(held, how):
        if not names:
            names.append(next(temporary.iterdir()))
            names[0].rmdir()
        flock(held, how)

    monkeypatch.setattr(folders.fcntl, "flock", swept_first)
    folder, held = folders.make()
    os.close(held)
    assert folder.exists() and names and folder != names[0]


def test_a_pool_waits_for_no_process_that_does_not_end_though_it_is_killed(monkeypatch):
    monkeypatch.setattr(pool, "_PARTING_SECONDS", 0.1)
    made = Pool(warm=())
    stuck = made._zygote

    class Stuck:
        """A process in the kernel's hands."""

        kill = staticmethod(stuck.kill)

        def wait(self, timeout=None):
            assert timeout is not None, "this would wait for ever"
            raise subprocess.TimeoutExpired("stuck", timeout)

    made._zygote = Stuck()
    made.close()
    stuck.wait(60)
    assert not made.folder.exists()


def test_a_warm_parent_that_may_start_no_process_just_now_serves_on():
    with Pool(warm=[("tests.worker.no_process",)]) as made:
        parent = made._zygote.pid
        assert made.call(ECHO, {"text": "at last"}).unwrap() == {"text": "at last"}
        assert made._zygote.pid == parent


def test_a_child_that_the_list_of_children_lacks_at_first_is_ended_too(monkeypatch):
    texts = iter(["", "", None])

    class Unreliable:
        def __init__(self, name):
            self.path = Path(name)

        def read_text(self):
            text = next(texts, None)
            return self.path.read_text() if text is None else text

    tester = os.fork()
    if tester == 0:  # which has no other children
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        monkeypatch.setattr(zygote, "Path", Unreliable)
        began = time.monotonic()
        zygote._end_descendants()
        os._exit(0 if time.monotonic() - began < 30 else 1)
    assert os.waitpid(tester, 0)[1] == 0
