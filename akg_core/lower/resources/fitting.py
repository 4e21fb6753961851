"""What programs hold under a schedule, and the schedule that a designed sketch is built with first: its defaults, with
smaller tiles where these do not fit."""

from __future__ import annotations

from collections.abc import Sequence

from akg_core.lower.build import KEPT, body_of
from akg_core.lower.resources.liveness import peak
from akg_core.lower.specialise import instances
from akg_core.records import Choice, Schedule
from akg_core.sketch import ast
from akg_core.sketch.schedule import bind, reduced


def fitting(tree: ast.SketchFile, space: Sequence[Choice], schedule: Schedule, room: int) -> Schedule:
    """The schedule with tiles of each kernel of a checked sketch one choice down until a program holds `room` bytes.

    Where tiles cannot be made smaller it holds more.
    """
    holding = Holding(tree)
    for kernel, held in holding.by_kernel(schedule).items():
        own = [choice for choice in space if choice.key.partition(".")[0] == kernel]
        while held > room:
            # Of tiles that help alike the largest: the others may have to be as large as they are for memory's sake.
            smaller = reduced(own, schedule, kernel)
            after = {key: holding.by_kernel(each)[kernel] for key, each in smaller.items()}
            best = min(after, key=lambda key: (after[key], -int(schedule.values[key])), default=None)
            if best is None or after[best] >= held:
                break
            schedule, held = smaller[best], after[best]
    return schedule


class Holding:
    """The bytes of tiles that a program of each kernel of a checked sketch holds at once, under any schedule."""

    def __init__(self, tree: ast.SketchFile) -> None:
        self.tree = tree
        self.known: dict[tuple[str, str], int] = {}  # by the instance, and what the schedule says of its kernel

    def by_kernel(self, schedule: Schedule) -> dict[str, int]:
        """The most that a program holds in any launch of each kernel."""
        found: dict[str, int] = {}
        for call, instance in instances(bind(self.tree, schedule)):
            name = call.kernel.name
            own = sorted(item for item in schedule.values.items() if item[0].partition(".")[0] == name)
            key = instance.symbol, repr((own, sorted(instance.known.items())))
            if key not in self.known:
                self.known[key] = peak(body_of(instance, cheap=KEPT)).bytes
            found[name] = max(found.get(name, 0), self.known[key])
        return found

    def most(self, schedule: Schedule) -> int:
        """The most that any program holds."""
        return max(self.by_kernel(schedule).values(), default=0)
