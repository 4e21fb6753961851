"""The schedule that a designed sketch is built with first: its defaults, with smaller tiles where these do not fit."""

from __future__ import annotations

from collections.abc import Sequence

from akg_core.lower.build import KEPT, body_of
from akg_core.lower.resources.tiles import peak
from akg_core.lower.specialise import instances
from akg_core.records import Choice, Schedule
from akg_core.sketch import ast
from akg_core.sketch.schedule import bind, reduced


def fitting(tree: ast.SketchFile, space: Sequence[Choice], schedule: Schedule, room: int) -> Schedule:
    """The schedule with tiles of each kernel of a checked sketch one choice down until a program holds `room` bytes.

    Where tiles cannot be made smaller it holds more.
    """
    for kernel, held in _held(tree, schedule).items():
        own = [choice for choice in space if choice.key.partition(".")[0] == kernel]
        while held > room:
            # Of tiles that help alike the largest: the others may have to be as large as they are for memory's sake.
            smaller = reduced(own, schedule, kernel)
            after = {key: _held(tree, each, kernel)[kernel] for key, each in smaller.items()}
            best = min(after, key=lambda key: (after[key], -int(schedule.values[key])), default=None)
            if best is None or after[best] >= held:
                break
            schedule, held = smaller[best], after[best]
    return schedule


def _held(tree: ast.SketchFile, schedule: Schedule, only: str = "") -> dict[str, int]:
    """The most bytes that a program holds in any launch of each kernel, or of one."""
    found: dict[str, int] = {}
    known = {
        instance for call, instance in instances(bind(tree, schedule)) if call.kernel.name == (only or call.kernel.name)
    }
    for instance in known:
        name = instance.kernel.name
        found[name] = max(found.get(name, 0), peak(body_of(instance, cheap=KEPT)).bytes)
    return found
