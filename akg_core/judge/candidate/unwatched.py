"""What a profiler has seen of a kernel that the mode which watches operators has not.

A mode holds in one thread, and Python code can step out of it for a while; the profiler sees all threads, and marks
where an operator comes by a mode. So an operator that was called elsewhere has no such mark above or below it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from akg_core.judge.candidate.operators import COPIES
from akg_core.judge.candidate.profiled import Event

_MARK = "PythonDispatchMode"
_NUMBERS = 256  # elements, as of tensors that `torch.tensor` makes of Python numbers on a device, out of every mode


def copies_elsewhere(events: Sequence[Event]) -> set[str]:
    """Full names of the operators that copied where no mode was, unless that was no more than some numbers."""
    known = {id(above) for event in events if event.name == _MARK for above in event.callers()}
    copied = (event for event in events if _copies(event) and id(event) not in known)
    found = [event for event in copied if not any(above.name == _MARK for above in event.callers())]
    return {event.name for event in found} if sum(map(_elements, found)) > _NUMBERS else set()


def is_complete(events: Sequence[Event], seen: int, detached: int, copies: int) -> bool:
    """Whether a mode that tells of so many operators, and copies among them, has told of all that came by it.

    Nobody may have emptied its notes, or have had the profiler begin anew. `detached`: how many of them were `detach`,
    which views and `data` call in a way that leaves no mark.
    """
    marks = [event for event in events if event.name == _MARK]
    copied = [event for event in marks if event.caller is not None and _copies(event.caller)]
    outer = [event for event in copied if not any(above.name == _MARK for above in event.callers())]
    return seen - detached <= len(marks) <= seen and len(outer) <= copies


def _copies(event: Event) -> bool:
    space, _, name = event.name.partition("::")
    return space == "aten" and name in COPIES


def _elements(event: Event) -> float:
    """How many elements an operator copied, where the profiler has noted shapes."""
    return math.prod(event.shapes[0]) if event.shapes else math.inf
