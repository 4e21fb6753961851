"""What a job may use of the machine, and what it does, read from outside: memory, processes, size of its folders."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path


def cores() -> int:
    """Processors that this process, and what it starts, may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_memory() -> int:
    """Bytes that the machine could give out now without swapping."""
    return _field(Path("/proc/meminfo"), ("MemAvailable",))


def descendants(process: int) -> list[int]:
    """Every process below `process`, itself not among them."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{process}/task"):  # noqa: PTH208
            for below in Path(f"/proc/{process}/task/{task}/children").read_text().split():
                found += [int(below), *descendants(int(below))]
    return found


def resident_memory(processes: Iterable[int]) -> int:
    """Bytes that these processes hold in memory, without the files that they map."""
    total = 0
    for process in processes:
        with contextlib.suppress(OSError):
            total += _field(Path(f"/proc/{process}/status"), ("RssAnon", "RssShmem"))
    return total


def is_still(process: int) -> bool:
    """Whether no thread of a process runs: all have been stopped, or have ended."""
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            with contextlib.suppress(OSError):
                state = (thread / "stat").read_text().rpartition(")")[2].split()[0]
                if state not in "TtZX":
                    return False
    return True


def folder_size(folder: Path) -> tuple[int, int]:
    """Bytes on disk, and the number of files and folders, below `folder`; links are not followed."""
    size = count = 0
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            count += 1
            with contextlib.suppress(OSError):
                size += entry.stat(follow_symlinks=False).st_blocks * 512
                if entry.is_dir(follow_symlinks=False):
                    below = folder_size(Path(entry.path))
                    size, count = size + below[0], count + below[1]
    return size, count


def _field(table: Path, names: tuple[str, ...]) -> int:
    lines = (line.split() for line in table.read_text().splitlines())
    return sum(int(line[1]) * 1024 for line in lines if line and line[0].rstrip(":") in names)
