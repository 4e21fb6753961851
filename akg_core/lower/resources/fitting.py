"""What programs hold under a schedule, and the schedule that a designed sketch is built with first: its defaults, with
smaller tiles where these do not fit."""

from __future__ import annotations

from collections.abc import Mapping

from akg_core.lower.build import KEPT, body_of
from akg_core.lower.fold import fold
from akg_core.lower.host.module import calls
from akg_core.lower.ir import Body
from akg_core.lower.resources.buffers import buffered
from akg_core.lower.resources.liveness import peak
from akg_core.lower.specialise import Numbers, known, sizes_at, specialise
from akg_core.records import Schedule
from akg_core.sketch import ast
from akg_core.sketch.check.shapes import substitute
from akg_core.sketch.schedule import bound, choices, reduced


def fitting(tree: ast.SketchFile, schedule: Schedule, room: int, sizes: Mapping[str, int], copies: int = 1) -> Schedule:
    """The schedule with tiles of each kernel of a checked sketch one choice down until a program holds `room` bytes.

    `sizes`: of the program's dimensions that vary, those of the example. Where tiles cannot be made smaller it holds
    more. `copies`: see `Holding`.
    """
    holding = Holding(tree, sizes, copies)
    for kernel, held in holding.by_kernel(schedule).items():
        while held > room:
            # Of tiles that help alike the largest: the others may have to be as large as they are for memory's sake.
            smaller = reduced(holding.choices[kernel], schedule, kernel)
            after = {key: holding.of_kernel(kernel, each) for key, each in smaller.items()}
            best = min(after, key=lambda key: (after[key], -int(schedule.values[key])), default=None)
            if best is None or after[best] >= held:
                break
            schedule, held = smaller[best], after[best]
    return schedule


class Holding:
    """The bytes of tiles that a program of each kernel of a checked sketch holds at once, under any schedule.

    `sizes`: of dimensions of the program that vary; a whole axis along others counts as one position. Tiles of a step
    are as large as that at any size. `copies`: of what is loaded and stored, where there are more than one (`buffers`).
    """

    def __init__(self, tree: ast.SketchFile, sizes: Mapping[str, int] | None = None, copies: int = 1) -> None:
        self._copies = copies
        self._launched: dict[str, tuple[ast.Kernel, dict[str, tuple[Numbers, dict[str, int]]]]] = {}
        for call in calls(tree):
            _, launches = self._launched.setdefault(call.kernel.name, (call.kernel, {}))
            found = known(call), sizes_at(call, sizes or {})
            launches.setdefault(repr(found), found)
        self.choices = {name: tuple(choices(kernel)) for name, (kernel, _) in self._launched.items()}
        self._known: dict[tuple[str, tuple[int | str, ...]], int] = {}

    def of_kernel(self, name: str, schedule: Schedule) -> int:
        """The most that a program holds in any launch of one kernel."""
        chosen = tuple(schedule.values.get(choice.key, choice.default) for choice in self.choices[name])
        if (name, chosen) not in self._known:
            kernel, launches = self._launched[name]
            fixed = bound(kernel, schedule)
            bodies = [
                _at_sizes(body_of(specialise(fixed, *numbers, name), cheap=KEPT), sizes)
                for numbers, sizes in launches.values()
            ]
            peaks = map(peak, bodies) if self._copies == 1 else (buffered(each, self._copies) for each in bodies)
            self._known[name, chosen] = max(each.bytes for each in peaks)
        return self._known[name, chosen]

    def by_kernel(self, schedule: Schedule) -> dict[str, int]:
        """The most that a program holds in any launch of each kernel."""
        return {name: self.of_kernel(name, schedule) for name in self._launched}

    def most(self, schedule: Schedule) -> int:
        """The most that any program holds."""
        return max(self.by_kernel(schedule).values(), default=0)


def _at_sizes(body: Body, sizes: Mapping[str, int]) -> Body:
    """The body, whose axes without a step hold as many positions as they have where dimensions are of these sizes."""
    values = {name: ast.Number(size) for name, size in sizes.items()}
    for axis in body.axes.values():
        extent = ast.rewrite(substitute(axis.extent, values), fold) if axis.capacity is None else None
        if isinstance(extent, ast.Number):
            axis.capacity = int(extent.value)
    return body
