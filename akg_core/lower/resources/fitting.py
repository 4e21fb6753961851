"""The schedule that a designed sketch is built with first: its defaults, with smaller tiles where these do not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from akg_core.records import Choice, Schedule
from akg_core.sketch import ast
from akg_core.sketch.check.capacity import peak
from akg_core.sketch.check.program import Launched
from akg_core.sketch.schedule import reduced

Sizes = Sequence[Mapping[str, ast.Expr]]


def fitting(launched: Sequence[Launched], space: Sequence[Choice], schedule: Schedule, room: int) -> Schedule:
    """The schedule with tiles of each kernel that is launched one choice down until a program holds `room` bytes.

    Where tiles cannot be made smaller it holds more.
    """
    by_kernel: dict[str, tuple[ast.Kernel, list[Mapping[str, ast.Expr]]]] = {}
    for each in launched:
        by_kernel.setdefault(each.kernel.name, (each.kernel, []))[1].append(each.values)
    for kernel, sizes in by_kernel.values():
        own = [choice for choice in space if choice.key.partition(".")[0] == kernel.name]
        schedule = _fitting(kernel, sizes, own, schedule, room)
    return schedule


def _fitting(kernel: ast.Kernel, sizes: Sizes, space: Sequence[Choice], schedule: Schedule, room: int) -> Schedule:
    held = _held(kernel, sizes, schedule)
    while held > room:
        # Of tiles that help alike the largest: the others may have to be as large as they are for memory's sake.
        smaller = reduced(space, schedule, kernel.name)
        after = {key: _held(kernel, sizes, each) for key, each in smaller.items()}
        best = min(after, key=lambda key: (after[key], -int(schedule.values[key])), default=None)
        if best is None or after[best] >= held:
            break
        schedule, held = smaller[best], after[best]
    return schedule


def _held(kernel: ast.Kernel, sizes: Sizes, schedule: Schedule) -> int:
    """The most bytes that a program holds in any of the kernel's launches."""
    chosen = {tune.name: schedule.values[f"{kernel.name}.{tune.name}"] for tune in kernel.tunes}
    numbers = {name: ast.Number(value) for name, value in chosen.items() if isinstance(value, int)}
    return max(peak(kernel, {**each, **numbers}).bytes for each in sizes)
