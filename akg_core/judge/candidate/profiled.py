"""Operators that ran in any thread, as PyTorch's profiler has seen them: their names, and which called which.

What it has noted is read as it is. The profiler's own records of it take a millisecond an operator to make, and lie in
cycles.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerActivity, profile


@dataclass(eq=False, slots=True)
class Event:
    """An operator that ran, or a mark that an operator left, from `start` to `end` in a thread.

    `caller`: the innermost event of the same thread that holds it. `shapes`: of its arguments, where these are noted.
    """

    name: str
    thread: int
    start: int
    end: int
    noted: Any
    caller: Event | None = None

    @property
    def shapes(self) -> Sequence[Sequence[int]]:
        return self.noted.shapes()

    def callers(self) -> Iterable[Event]:
        """All events that hold this one, the innermost first."""
        above = self.caller
        while above is not None:
            yield above
            above = above.caller


class Profiler:
    """A context; afterwards `events` are those of all threads, in the order in which they began in each."""

    def __init__(self) -> None:
        try:
            config = _ExperimentalConfig(profile_all_threads=True)
        except TypeError:  # an older torch sees the calling thread only
            config = None
        self._profile = profile(activities=[ProfilerActivity.CPU], record_shapes=True, experimental_config=config)
        self.events: tuple[Event, ...] = ()

    def __enter__(self) -> Profiler:
        self._profile.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._profile.__exit__(*raised)
        profiler = self._profile.profiler
        if profiler is not None and profiler.kineto_results is not None:
            self.events = _nested(profiler.kineto_results.events())


def _nested(noted: Iterable[Any]) -> tuple[Event, ...]:
    """Events of what a profiler noted, with their callers."""
    read = (Event(each.name(), each.start_thread_id(), each.start_ns(), each.end_ns(), each) for each in noted)
    ordered = sorted(read, key=lambda event: (event.thread, event.start, -event.end))
    for _, events in itertools.groupby(ordered, key=attrgetter("thread")):
        open_events: list[Event] = []
        for event in events:
            while open_events and event.end > open_events[-1].end:
                open_events.pop()
            event.caller = open_events[-1] if open_events else None
            open_events.append(event)
    return tuple(ordered)
