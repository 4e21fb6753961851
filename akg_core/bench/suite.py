"""Which tasks a benchmark runs: those of a public suite in a checkout of it, or reference files and folders of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from akg_core.errors import UsageError

_NPUKERNELBENCH = "npukernelbench"


@dataclass(frozen=True)
class Problem:
    """One task: its reference file, and the group that it is reported in ("" leaves that to what it computes).

    Where the file is made of cases of a task: `origin`, the task's own file, the numbers of the `cases` there, and
    `further`, which kernel it is of those that are made for what one before refuses.
    """

    name: str
    path: Path
    group: str = ""
    origin: Path | None = None
    cases: tuple[int, ...] = ()
    further: int = 0


def kernelbench(root: Path, level: int, wanted: str = "") -> list[Problem]:
    """The problems of a level in KernelBench's folder, by number; `wanted` such as "1-20,54" picks some.

    Raises UsageError when there are none.
    """
    folders = [root / f"level{level}", root / "KernelBench" / f"level{level}"]
    folder = next((folder for folder in folders if folder.is_dir()), None)
    if folder is None:
        raise UsageError(
            f"There is no level{level} in {str(root)!r}.",
            "--root is a checkout of KernelBench, or a folder that holds its level1, level2, …",
        )
    numbered = {int(found[1]): path for path in folder.glob("*.py") if (found := re.match(r"(\d+)_", path.name))}
    picked = numbers(wanted) if wanted else set(numbered)
    if missing := sorted(picked - set(numbered)):
        raise UsageError(f"Level {level} has no problem {', '.join(map(str, missing))}.", f"It has {_spell(numbered)}.")
    return [Problem(numbered[number].stem, numbered[number]) for number in sorted(picked)]


def multikernelbench(root: Path, wanted: str = "") -> list[Problem]:
    """The tasks in the folders of `reference`, one for each category, but those of NPUKernelBench.

    `wanted` such as "loss,softmax" picks categories and tasks. Raises UsageError when there are none.
    """
    folders = _references(root, lambda name: not name.startswith(_NPUKERNELBENCH))
    return _named(folders, wanted)


def npukernelbench(root: Path, wanted: str = "") -> list[Problem]:
    """NPUKernelBench's tasks, in the same checkout, each one file with many cases; their groups are its levels.

    `wanted` such as "level1,3_add" picks levels and tasks. Raises UsageError when there are none.
    """
    found = _references(root, lambda name: name.startswith(_NPUKERNELBENCH))
    return _named({name.removeprefix(f"{_NPUKERNELBENCH}_"): paths for name, paths in found.items()}, wanted)


def _references(root: Path, kept: Callable[[str], bool]) -> dict[str, list[Path]]:
    """The reference files of a checkout of MultiKernelBench by their folders, as far as these are kept."""
    folder = root / "reference" if (root / "reference").is_dir() else root
    found = {inside.name: sorted(inside.glob("*.py"), key=_number) for inside in folder.glob("*/") if kept(inside.name)}
    if not any(found.values()):
        raise UsageError(
            f"There are no such tasks in {str(root)!r}.", "--root is a checkout of MultiKernelBench, with `reference`."
        )
    return {name: found[name] for name in sorted(found) if found[name]}


def _named(folders: dict[str, list[Path]], wanted: str) -> list[Problem]:
    every = [Problem(path.stem, path, group) for group, paths in folders.items() for path in paths]
    names = set(filter(None, wanted.replace(" ", "").split(",")))
    if missing := sorted(names - {problem.name for problem in every} - set(folders)):
        raise UsageError(f"There is no task or group {missing[0]!r}.", f"Groups are {', '.join(folders)}.")
    return [problem for problem in every if not names or names & {problem.name, problem.group}]


def _number(path: Path) -> tuple[int, str]:
    """Files that begin with a number in its order, before all others by name."""
    found = re.match(r"\d+", path.name)
    return (int(found[0]) if found else 1 << 30, path.name)


def files(paths: Iterable[Path]) -> list[Problem]:
    """Reference files, and all of those in folders (and in their folders), grouped by the folder they lie in."""
    found: list[Problem] = []
    for path in paths:
        inside = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        if not inside or not path.exists():
            raise UsageError(f"There is no reference file at {str(path)!r}.", "Give .py files or folders of them.")
        found += [Problem(file.stem, file, file.resolve().parent.name) for file in inside if file.name[0] != "_"]
    return found


def numbers(text: str) -> set[int]:
    """ "1-3,54" → {1, 2, 3, 54}. Raises UsageError for anything else."""
    found: set[int] = set()
    for part in text.replace(" ", "").split(","):
        bounds = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if not bounds or (bounds[2] and int(bounds[2]) < int(bounds[1])):
            raise UsageError(f"{part!r} is no problem's number and no range.", "Write for example 1-20,54.")
        found |= set(range(int(bounds[1]), int(bounds[2] or bounds[1]) + 1))
    return found


def _spell(numbered: Iterable[int]) -> str:
    every = sorted(numbered)
    return f"{every[0]} to {every[-1]}" if every else "none"
