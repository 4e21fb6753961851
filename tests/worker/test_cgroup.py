"""Control groups: made where the system lets us, gone with their jobs. What holds without them is in test_pool.py."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import ClassVar

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


class Hierarchy:
    """Folders that behave as the kernel's groups do, as far as making, limiting and removing them goes.

    A new group has the files of the controllers that the group above it hands down.
    """

    FILES: ClassVar = {
        "": ("cgroup.procs", "cgroup.kill"),
        "memory": ("memory.max", "memory.oom.group", "memory.swap.max"),
        "pids": ("pids.max",),
    }

    def __init__(self, root, monkeypatch):
        self.root, self.own, self.mounted = root, "/", "/"
        make, remove = Path.mkdir, Path.rmdir

        def mkdir(path, *given, **options):
            make(path, *given, **options)
            if path.is_relative_to(root) and path != root:
                above = path.parent / "cgroup.subtree_control"
                for controller in ("", *(above.read_text().split() if above.exists() else ())):
                    for file in self.FILES[controller]:
                        (path / file).touch()

        def rmdir(path):
            for file in path.iterdir() if path.is_relative_to(root) else ():
                file.unlink()
            remove(path)

        monkeypatch.setattr(Path, "mkdir", mkdir)
        monkeypatch.setattr(Path, "rmdir", rmdir)
        monkeypatch.setattr(cgroup, "_lines", lambda path: self.files()[path])

    def files(self):
        mounts = [
            "22 1 0:20 / / rw - ext4 /dev/vda rw",
            f"30 22 0:28 {self.mounted} {self.root} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate",
        ]
        return {"/proc/self/mountinfo": mounts, "/proc/self/cgroup": ["9:name=systemd:/", f"0::{self.own}"]}

    def add(self, path, controllers=""):
        """A group that hands these controllers down."""
        for folder in (*reversed((self.root / path).relative_to(self.root).parents), Path(path)):
            (self.root / folder).mkdir(exist_ok=True)
        (self.root / path / "cgroup.subtree_control").write_text(controllers)


@pytest.fixture
def hierarchy(tmp_path, monkeypatch):
    return Hierarchy(tmp_path / "cgroup", monkeypatch)


GIVEN = cgroup.limits(memory_bytes=1 << 30, file_bytes=1 << 20, processes=20)
HELD = {"memory.max": f"{(2 << 30) + (1 << 20)}", "pids.max": "160", "memory.swap.max": "0", "memory.oom.group": "1"}


@pytest.mark.parametrize(
    ("own", "mounted", "at"),
    [
        ("/user.slice/app.slice/run.scope", "/", "user.slice/app.slice"),  # a user's session of systemd
        ("/", "/", ""),  # a container with a namespace of its own for groups
        ("/docker/abc", "/docker/abc", ""),  # one that is told the host's name of its group
        ("/user.slice/app.slice/run.scope", "/", "user.slice"),  # handed down further above alone
    ],
)
def test_memory_and_processes_are_limited_where_they_are_handed_down(hierarchy, own, mounted, at):
    hierarchy.own, hierarchy.mounted = own, mounted
    for folder in ("", "user.slice", "user.slice/app.slice", "user.slice/app.slice/run.scope"):
        hierarchy.add(folder, "memory pids" if folder == at else "")
    made = cgroup.make("akg-pool-x-job-1", GIVEN)
    assert made == hierarchy.root / at / "akg-pool-x-job-1"
    assert {file: (made / file).read_text() for file in HELD} == HELD
    assert cgroup.enter(made) and (made / "cgroup.procs").read_text() == "0"
    cgroup.remove_all("akg-pool-x")
    assert not made.exists()


def test_a_system_that_counts_no_swap_limits_the_rest(hierarchy, monkeypatch):
    monkeypatch.setitem(Hierarchy.FILES, "memory", ("memory.max",))
    hierarchy.add("", "memory pids")
    made = cgroup.make("akg-pool-x-job-1", GIVEN)
    assert (made / "memory.max").read_text() == HELD["memory.max"] and not (made / "memory.swap.max").exists()


@pytest.mark.parametrize("given", ["", "memory", "pids"])
def test_without_a_controller_for_both_there_is_no_group_and_nothing_is_left(hierarchy, given):
    hierarchy.add("", given)
    assert cgroup.make("akg-pool-x-job-1", GIVEN) is None
    assert [path.name for path in hierarchy.root.iterdir() if path.is_dir()] == []


def test_where_groups_of_version_2_are_not_mounted_there_are_none(monkeypatch):
    files = {"/proc/self/mountinfo": ["22 1 0:20 / / rw - ext4 /dev/vda rw"], "/proc/self/cgroup": ["4:memory:/jobs"]}
    monkeypatch.setattr(cgroup, "_lines", files.get)
    assert list(cgroup.parents()) == [] and cgroup.make("akg-pool-x-job-1", GIVEN) is None


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
