"""Control groups: made where the system lets us, gone with their jobs. What holds without them is in test_pool.py."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from akg_core.worker import cgroup
from akg_core.worker.limits import Limits
from akg_core.worker.pool import Pool

LIMITS = {"cgroup.max.descendants": 5}
ROOT = Path(__file__).parents[2]


@pytest.fixture
def group():
    group = cgroup.make(f"akg-test{os.getpid()}-group", LIMITS)
    if group is None:
        pytest.skip("this system lets us make no control groups")
    yield group
    cgroup.remove_all(group.name.rpartition("-")[0])


def groups(name: str) -> list[Path]:
    return [group for parent in cgroup.parents() for group in parent.glob(f"{name}-*")]


def test_the_limits_stand_in_the_group(group):
    assert (group / "cgroup.max.descendants").read_text() == "5\n"


def test_where_a_limit_cannot_be_set_the_next_group_above_is_tried(group, monkeypatch, tmp_path):
    monkeypatch.setattr(cgroup, "parents", lambda: iter([tmp_path, group]))
    made = cgroup.make("inner", LIMITS)
    assert made == group / "inner" and not list(tmp_path.iterdir())
    assert cgroup.make("never", {"no.such.limit": 1}) is None and not (group / "never").exists()
    assert cgroup.discard(made)


def test_removing_a_group_ends_all_that_is_in_it(group):
    code = f"from akg_core.worker import cgroup; from pathlib import Path; print(cgroup.enter(Path({str(group)!r})))"
    program = f"{code}; import os, time; os.fork(); os.setsid() if os.fork() else None; time.sleep(600)"
    process = subprocess.Popen([sys.executable, "-uc", program], stdout=subprocess.PIPE, cwd=ROOT)
    assert process.stdout.readline() == b"True\n"
    assert not cgroup.discard(group), "not while something runs in it"
    cgroup.remove_all(group.name)
    assert group.exists(), "another pool's"
    cgroup.remove_all(group.name.rpartition("-")[0])
    assert process.wait(60) == -9 and not group.exists()
    assert process.stdout.read() == b"", "its children, which held the pipe, have ended too"


@pytest.mark.parametrize("isolate", [True, False])
def test_every_job_is_in_a_group_of_its_own(group, isolate):
    """Groups of jobs that have ended go when others come, the last with the pool."""
    limits = Limits(seconds=120, confined=True)
    with Pool(warm=[("tests.worker.small_groups",)], isolate=isolate) as pool:
        for number in range(1, 8):
            result = pool.call("tests.worker.jobs:control_group", {}, limits=limits)
            assert "control group" in result.protections
            assert f"{pool.folder.name}-job-{number}" in result.unwrap()["group"]
            time.sleep(0.3)
        assert len(groups(pool.folder.name)) < 7
    assert not groups(pool.folder.name)


def test_no_group_survives_the_orchestrator(group):
    code = """
import os
from akg_core.worker.pool import Pool
pool = Pool(warm=[("tests.worker.small_groups",)])
pool.submit("tests.worker.jobs:hang", {})
print(pool.call("tests.worker.jobs:echo", {}).protections, pool.folder.name, flush=True)
os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert "control group" in done.stdout
    until = time.monotonic() + 60
    while groups(done.stdout.split()[-1]):
        assert time.monotonic() < until
        time.sleep(0.02)
