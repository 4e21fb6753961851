"""A control group for each job: what the kernel itself keeps all of a job's processes to, however fast they are.

Version 2, where groups with limits can be made beside this process's own or above it: by an administrator, in a user's
session of systemd, in a container that has its own. Elsewhere resource limits and the orchestrator's watch are alone.
The limits here are walls behind that watch, which is exact and says what was too much.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

_THREADS = 8  # of a process: the kernel counts these
_ROOM = 2  # times the memory that a job may hold, for what the kernel counts beside it
_PARTING_SECONDS = 2.0
_AT_BEST = {"memory.swap.max": 0, "memory.oom.group": 1}
"""Not every system counts swap; what runs out of memory ends as a whole."""


def limits(memory_bytes: int, file_bytes: int, processes: int) -> dict[str, int]:
    """What a group's files are to hold; files in memory count as memory."""
    return {"memory.max": _ROOM * memory_bytes + file_bytes, "pids.max": _THREADS * processes}


def make(name: str, values: dict[str, int]) -> Path | None:
    """A new group whose files hold these values; None where the system lets us make none."""
    for parent in parents():
        group = parent / name
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            for file, value in values.items():
                _set(group / file, value)
        except OSError:
            discard(group)
            continue
        for file, value in _AT_BEST.items():
            with contextlib.suppress(OSError):
                _set(group / file, value)
        return group
    return None


def enter(group: Path) -> bool:
    """Take this process, and all that it will start, into a group. Says whether the system let it."""
    with contextlib.suppress(OSError):
        (group / "cgroup.procs").write_text("0")
        return True
    return False


def end(group: Path) -> None:
    """End every process in a group, at once."""
    with contextlib.suppress(OSError):
        _set(group / "cgroup.kill", 1)


def discard(group: Path) -> bool:
    """Remove a group in which nothing runs any more. Says whether it is gone."""
    with contextlib.suppress(OSError):
        group.rmdir()
    return not group.exists()


def remove_all(pool: str) -> None:
    """End and remove the groups whose names begin with a pool's."""
    until = time.monotonic() + _PARTING_SECONDS
    for group in [group for parent in parents() for group in parent.glob(f"{pool}-*")]:
        end(group)
        while not discard(group) and time.monotonic() < until:
            time.sleep(0.01)


def parents() -> Iterator[Path]:
    """The groups that this process is in, the innermost first; none where version 2 is not mounted."""
    mounts = (line.split() for line in _lines("/proc/self/mountinfo"))
    root = next((Path(mount[4]) for mount in mounts if "cgroup2" in mount[mount.index("-") :][:2]), None)
    own = next((line.partition("::")[2] for line in _lines("/proc/self/cgroup") if line.startswith("0::")), "")
    if root is None or not own or ".." in own:
        return
    inner = root / own.lstrip("/")
    yield inner
    yield from (above for above in inner.parents if above.is_relative_to(root))


def _set(file: Path, value: int) -> None:
    with file.open("r+") as setting:  # one that is missing is not made
        setting.write(str(value))


def _lines(path: str) -> list[str]:
    with contextlib.suppress(OSError):
        return Path(path).read_text().splitlines()
    return []
