"""Which tasks a benchmark runs: the levels of a KernelBench checkout, or files and folders of reference files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from akg_core.errors import UsageError


@dataclass(frozen=True)
class Problem:
    """One task: its reference file, and the group that it is reported in ("" leaves that to what it computes)."""

    name: str
    path: Path
    group: str = ""


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
