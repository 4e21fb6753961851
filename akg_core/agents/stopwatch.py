"""Where the time of an attempt goes: to the model, to compilers, to judging; what is left is the framework's own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from akg_core.records import Record


class Spent(Record):
    """Seconds: until a model has answered, in the compiler, judging (which runs, compares and times), and all the rest.

    Starting the process that the compiler works in is part of the rest.
    """

    model: float = 0.0
    compile: float = 0.0
    judge: float = 0.0
    rest: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(**{name: getattr(self, name) + getattr(other, name) for name in Spent.model_fields})


class Stopwatch:
    """Splits the time of one thread into laps, and each lap into what it was spent on."""

    def __init__(self) -> None:
        self._began, self._spent = time.monotonic(), dict[str, float]()

    @contextmanager
    def during(self, what: Literal["model", "judge"]) -> Iterator[None]:
        """Count a `with` body as time spent on something."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.count(what, time.monotonic() - began)

    def count(self, what: Literal["model", "compile", "judge"], seconds: float) -> None:
        """Count as spent on something what took so long in another process."""
        self._spent[what] = self._spent.get(what, 0.0) + seconds

    def lap(self) -> Spent:
        """What was spent since the last lap, or since the start."""
        now = time.monotonic()
        rest = now - self._began - sum(self._spent.values())
        found = {what: round(seconds, 4) for what, seconds in {**self._spent, "rest": rest}.items()}
        self._began, self._spent = now, {}
        return Spent(**found)
