"""Where a search may go: the schedules of several sketches, a random start, and steps around a good one."""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from akg_core.records import Choice, Schedule
from akg_core.stages.stages import Design

EXHAUSTIVE = 48  # spaces of at most so many points are walked, not sampled


@dataclass(frozen=True)
class Point:
    """One candidate: which of the designs, under which schedule (every choice of the design has a value)."""

    design: int
    schedule: Schedule

    @property
    def key(self) -> str:
        """A text that names the point, the same in every process."""
        return f"{self.design}:{json.dumps(self.schedule.values, sort_keys=True)}"

    def __hash__(self) -> int:
        return hash(self.key)


def sketch_hash(design: Design) -> str:
    """What identifies a sketch in the archive: its text."""
    return hashlib.sha256(design.sketch.text.encode()).hexdigest()[:16]


class Moves:
    """Proposes points that were not proposed before: the defaults, then some near these and some anywhere, then
    neighbours of the best."""

    def __init__(self, designs: Sequence[Design], seed: int = 0, start: int = 8) -> None:
        self._designs = tuple(designs)
        self._random = random.Random(seed)
        self._seen: set[str] = set()
        self._start = start
        self._wanted: list[Point] = []
        self.size = sum(math.prod(len(choice.choices) for choice in design.space) for design in designs)

    def want(self, point: Point) -> None:
        """Propose `point` before all others."""
        self._wanted.append(point)

    def known(self, point: Point) -> None:
        """Do not propose `point` again: it has been measured before."""
        self._seen.add(point.key)

    @property
    def exhausted(self) -> bool:
        """Whether every point has been proposed."""
        return len(self._seen) >= self.size

    def propose(self, count: int, best: Point | None) -> tuple[Point, ...]:
        """Up to `count` new points; fewer when the space runs out. `best` is the fastest point so far."""
        found: list[Point] = []
        if self.exhausted:
            return ()
        for point in self._stream(best):
            if point.key not in self._seen:
                self._seen.add(point.key)
                found.append(point)
            if len(found) == count or self.exhausted:
                break
        return tuple(found)

    def _stream(self, best: Point | None) -> Iterator[Point]:
        while self._wanted:
            yield self._wanted.pop(0)
        yield from (Point(number, design.default) for number, design in enumerate(self._designs))
        if self.size <= EXHAUSTIVE:
            points = [point for number in range(len(self._designs)) for point in self._all(number)]
            self._random.shuffle(points)
            yield from points
            return
        while best is None or len(self._seen) < len(self._designs) + self._start:
            yield self._start_point()
        for tries in range(200):
            yield self._near(best, changes=1 + tries // 60)
        while True:
            yield self._anywhere()

    def _all(self, number: int, fixed: dict[str, int | str] | None = None, depth: int = 0) -> Iterator[Point]:
        space, fixed = self._designs[number].space, fixed or {}
        if depth == len(space):
            yield Point(number, Schedule(values=fixed))
            return
        for value in space[depth].choices:
            yield from self._all(number, {**fixed, space[depth].key: value}, depth + 1)

    def _start_point(self) -> Point:
        """A step or two from the default of some design, the first of which are the designer's best guesses; or any."""
        if self._random.random() < 0.25:
            return self._anywhere()
        number = min(self._random.randrange(len(self._designs)) for _ in range(2))
        return self._near(Point(number, self._designs[number].default), changes=self._random.randint(1, 2))

    def _anywhere(self) -> Point:
        number = self._random.randrange(len(self._designs))
        space = self._designs[number].space
        return Point(number, Schedule(values={choice.key: self._random.choice(choice.choices) for choice in space}))

    def _near(self, best: Point, changes: int) -> Point:
        """`best` with a few choices moved, mostly by one step; now and then the same values in another sketch."""
        if len(self._designs) > 1 and self._random.random() < 0.15:
            return self._carried_over(best, self._random.randrange(len(self._designs)))
        values = dict(best.schedule.values)
        space = [choice for choice in self._designs[best.design].space if len(choice.choices) > 1]
        for choice in self._random.sample(space, min(changes, len(space))):
            values[choice.key] = self._moved(choice, values[choice.key])
        return Point(best.design, Schedule(values=values))

    def _moved(self, choice: Choice, value: int | str) -> int | str:
        others = [other for other in choice.choices if other != value]
        if isinstance(value, str) or self._random.random() < 0.3:
            return self._random.choice(others)
        ordered = sorted((other for other in choice.choices if not isinstance(other, str)), key=int)
        at = ordered.index(value)
        return self._random.choice([*ordered[max(at - 1, 0) : at], *ordered[at + 1 : at + 2]] or others)

    def _carried_over(self, best: Point, number: int) -> Point:
        values = {}
        for choice in self._designs[number].space:
            value = best.schedule.values.get(choice.key, choice.default)
            values[choice.key] = value if value in choice.choices else choice.default
        return Point(number, Schedule(values=values))
