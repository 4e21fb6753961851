"""What a job may use of the machine, and what it does, read from outside: memory, processes, size of its folders."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

_IN_MEMORY = ("/memfd:", "/dev/shm/", "/dev/zero (deleted)", "/SYSV", "/anon_hugepage")
"""How names of files begin that are nowhere but in memory."""
_LONGEST_PATH, _ENDLESS = 3000, 1 << 30  # characters of a path; files and folders


def processors() -> list[int]:
    """The numbers of the processors that this process, and what it starts, may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [*range(os.cpu_count() or 1)]


def cores() -> int:
    """How many processors this process, and what it starts, may use."""
    return len(processors())


def descendants(process: int) -> list[int]:
    """Every process below `process`, itself not among them."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{process}/task"):  # noqa: PTH208
            for below in Path(f"/proc/{process}/task/{task}/children").read_text().split():
                found += [int(below), *descendants(int(below))]
    return found


def memory(processes: Sequence[int], enough: int) -> int:
    """Bytes of memory that these processes hold, without the files on disks that they map.

    What lies in files in memory counts whether or not anybody has it mapped; it is looked at only where all that the
    machine has of that could make the sum more than `enough`.
    """
    own, seen = _held(processes, "RssAnon", "HugetlbPages"), _held(processes, "RssShmem")
    if own + max(seen, _field(Path("/proc/meminfo"), ("Shmem",))) <= enough:
        return own + seen
    return own + max(seen, _in_memory_files(processes))


def _held(processes: Iterable[int], *fields: str) -> int:
    total = 0
    for process in processes:
        with contextlib.suppress(OSError):
            total += _field(Path(f"/proc/{process}/status"), fields)
    return total


def _in_memory_files(processes: Iterable[int]) -> int:
    """Bytes of files in memory that these processes have open or mapped, or that lie where only they see them."""
    found: dict[tuple[int, int], int] = {}
    for process in processes:
        for path in (*_opened(process), *_mapped(process)):
            with contextlib.suppress(OSError):
                status = os.stat(path)  # noqa: PTH116
                found[status.st_dev, status.st_ino] = status.st_blocks * 512
        for mount, used in _own_mounts(process):
            found[mount, 0] = used
            found |= {file: 0 for file in found if file[0] == mount and file[1]}  # counted with where it lies
    return sum(found.values())


def _opened(process: int) -> Iterator[str]:
    """Descriptors of files in memory."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(f"/proc/{process}/fd"):
            with contextlib.suppress(OSError):
                if os.readlink(entry.path).startswith(_IN_MEMORY):  # noqa: PTH115
                    yield entry.path


def _mapped(process: int) -> Iterator[str]:
    """Shared mappings of files in memory; who may not follow them counts what is resident alone."""
    with contextlib.suppress(OSError), Path(f"/proc/{process}/maps").open(errors="replace") as maps:
        for line in maps:
            place, rights, _, _, _, *name = line.split(maxsplit=5)
            if rights.endswith("s") and name and name[0].startswith(_IN_MEMORY):
                yield f"/proc/{process}/map_files/{'-'.join(end.lstrip('0') for end in place.split('-'))}"


def _own_mounts(process: int) -> Iterator[tuple[int, int]]:
    """File systems in memory that a process does not share with this one: their device, and bytes that they hold."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/mountinfo").read_text(errors="replace").splitlines():
            fields = line.split()
            if fields[fields.index("-") + 1] == "tmpfs":
                path = f"/proc/{process}/root{fields[4]}"
                with contextlib.suppress(OSError):
                    device = os.stat(path).st_dev  # noqa: PTH116
                    if f"{os.major(device)}:{os.minor(device)}" == fields[2] and fields[2] not in _shared_mounts():
                        room = os.statvfs(path)
                        yield device, (room.f_blocks - room.f_bfree) * room.f_frsize


def _shared_mounts() -> frozenset[str]:
    """The devices of what is mounted here."""
    return frozenset(line.split()[2] for line in Path("/proc/self/mountinfo").read_text(errors="replace").splitlines())


def waited(processes: Iterable[int]) -> dict[tuple[int, int], float]:
    """For each thread of these processes, the seconds that it was ready to run and no processor was free for it."""
    return {thread: numbers[1] / 1e9 for thread, numbers in _scheduled(processes).items()}


def ran(processes: Iterable[int]) -> dict[tuple[int, int], int]:
    """For each thread of these processes, the nanoseconds that it has run."""
    return {thread: numbers[0] for thread, numbers in _scheduled(processes).items()}


def _scheduled(processes: Iterable[int]) -> dict[tuple[int, int], list[int]]:
    """What the system counts of each thread: nanoseconds that it ran and that it waited, and how often it ran."""
    found = dict[tuple[int, int], list[int]]()
    for process in processes:
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{process}/task").iterdir():
                with contextlib.suppress(OSError, ValueError, IndexError):
                    numbers = (thread / "schedstat").read_text().split()
                    found[process, int(thread.name)] = [int(number) for number in numbers[:3]]
    return found


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
    """Bytes on disk, and the number of files and folders, below `folder`; links are not followed.

    A folder too deep to have a path, under which anything could lie, counts as more files than anybody may have.
    """
    size = count = 0
    waiting = [str(folder)]
    while waiting:
        here = waiting.pop()
        if len(here) > _LONGEST_PATH:
            return size, count + _ENDLESS
        with contextlib.suppress(OSError):
            for entry in os.scandir(here):
                count += 1
                with contextlib.suppress(OSError):
                    size += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
    return size, count


def _field(table: Path, names: tuple[str, ...]) -> int:
    lines = (line.split() for line in table.read_text().splitlines())
    return sum(int(line[1]) * 1024 for line in lines if line and line[0].rstrip(":") in names)
