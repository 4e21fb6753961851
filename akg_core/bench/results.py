"""What a benchmark found: a row a task, and the document that holds them all and survives a kill."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from akg_core.agents.records import Tally
from akg_core.errors import UsageError
from akg_core.judge.records import Timing, Verdict
from akg_core.judge.timing.measure import KERNEL
from akg_core.records import Record, Scalar
from akg_core.search.tune import Tuned

EQUAL = 0.98  # a ratio that counts as no slower
REFUSED = "refused"
REST = "-rest"  # in the name of a row, after the name of the kernel that refuses its cases
APART = "-apart"  # in the name of a row, after the name of what is one kernel for several integers, if it can be made
_NONE = "not captured"  # the group of what has no graph to tell by


class Row(Record):
    """The result of one task. Medians are in milliseconds; a speed-up is its ratio and the ends of its interval.

    `status` is the verdict's, "refused" where capture or the designer say that there is no kernel for it, or "failed"
    when there is none; `captured` is not known in documents that are older. `reason` is set when the task is not
    correct or its timing does not hold. `weak` names what `task check` finds. `floor_share`: the physical floor over
    the median.
    `tuned`: what a search found, when there was one. `tally`: what agents came to, where they made the kernel.
    `refused`: the numbers of the task's own cases that its kernel is not for.
    """

    name: str
    group: str
    status: str
    digest: str
    reason: str = ""
    captured: bool | None = None
    cases: int = 0
    refused: tuple[int, ...] = ()
    accuracy_ratio: float | None = None
    median_ms: dict[str, float] = Field(default_factory=dict)
    speedup: dict[str, tuple[float, float, float]] = Field(default_factory=dict)
    floor_share: float | None = None
    limited_by: str = ""
    sketch: str = ""
    tuned: Tuned | None = None
    tally: Tally | None = None
    seconds: dict[str, float] = Field(default_factory=dict)
    weak: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_captured(self) -> bool:
        """Whether there is a graph of it."""
        return self.captured if self.captured is not None else "capture" in self.seconds and self.group != _NONE

    @property
    def is_wrong(self) -> bool:
        """Whether a kernel was to be made of it, and none is correct."""
        return self.status not in ("correct", REFUSED)

    @property
    def reference_raises(self) -> bool:
        """Whether it was captured, and its forward raises on the values that its own file gives."""
        return self.status == "failed" and self.is_captured and " forward raises " in self.reason

    def ratio(self, over: str) -> float | None:
        """How many times faster than a baseline; None when that was not measured."""
        return self.speedup[over][0] if over in self.speedup else None


def measured(verdict: Verdict | None, timing: Timing | None) -> dict[str, Any]:
    """The fields of a row that verdict and timing give."""
    found: dict[str, Any] = {}
    if verdict:
        found |= {"cases": len(verdict.cases), "accuracy_ratio": verdict.accuracy_ratio}
    if timing and timing.measurements:
        found["median_ms"] = {m.name: round(m.median * 1e3, 5) for m in timing.measurements}
        median = timing.median(KERNEL)
        if timing.floor and median:
            found |= {"floor_share": timing.floor.seconds / median, "limited_by": timing.floor.limited_by}
        if timing.status == "ok":
            found["speedup"] = {s.over: (s.ratio, s.low, s.high) for s in timing.speedups}
    return found


class Engine(Record):
    """Who designed: rules ("builtin"), or agents ("llm", "hybrid") of some models, without some of their parts."""

    name: str = "builtin"
    models: tuple[str, ...] = ()
    attempts: int = 0
    without: tuple[str, ...] = ()


class Results(Record):
    """The document: what was run, with what, where, and a row a task. `finished` is false while it is being written.

    `dynamic`: one kernel was made for all sizes, and judged at hidden ones. `seconds`: of all runs that it took.
    `simulated`: kernels ran by simulation, so that nothing has a time. `tune`: seconds that each task was searched for.
    `kernels`: of each task with many, the first so many (0 for all), and those for cases that these refuse.
    """

    suite: str
    plugin: str
    target: str
    scale: float
    dynamic: bool = False
    simulated: bool = False
    tune: float = 0.0
    kernels: int = 0
    engine: Engine = Engine()
    baselines: tuple[str, ...]
    versions: dict[str, str]
    machine: dict[str, Scalar] = Field(default_factory=dict)
    finished: bool = False
    seconds: float = 0.0
    rows: tuple[Row, ...] = ()


def unfinished(path: Path, like: Results) -> Results:
    """What a run of the same kind left unfinished there; `like`, which has no rows, when there is no such.

    A run of fewer kernels of each task is unfinished, too.
    """
    if not path.exists():
        return like
    try:
        found = Results(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, ValidationError):
        raise UsageError(
            f"{str(path)!r} holds something else than a benchmark's results.", "Give another --out."
        ) from None
    same = ("suite", "plugin", "target", "scale", "dynamic", "simulated", "tune", "engine", "baselines", "versions")
    fewer = 0 < found.kernels < (like.kernels or math.inf)
    alike = (fewer or not found.finished) and all(getattr(found, name) == getattr(like, name) for name in same)
    return found if alike else like


def digest(path: Path, *also: object) -> str:
    """What a task's result depends on: the text of its file, and how it is run."""
    return hashlib.sha256(path.read_bytes() + repr(also).encode()).hexdigest()[:16]


def groups(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows by group, in the order of their names, and "all" of them last."""
    every = list(rows)
    names = sorted({row.group for row in every})
    return {name: [row for row in every if row.group == name] for name in names} | {"all": every}


def unserved(rows: Sequence[Row]) -> list[Row]:
    """Those whose kernels refuse cases that no kernel was made for: one that was made is the next row."""
    following = [*(row.name for row in rows[1:]), ""]
    bases = [row.name.partition(REST)[0] for row in rows]
    pairs = zip(rows, bases, following, strict=True)
    return [row for row, base, name in pairs if row.refused and not name.startswith(base + REST)]


def passes(attempts: int, correct: int, k: int) -> float:
    """pass@k: the chance that one of k attempts, drawn from those made, is correct (Chen et al., 2021)."""
    if k > attempts:
        return float("nan")
    return 1.0 - math.comb(attempts - correct, k) / math.comb(attempts, k)


def geomean(values: Iterable[float | None]) -> float | None:
    """The geometric mean of those that are known; None when none is."""
    known = [value for value in values if value]
    return math.exp(sum(map(math.log, known)) / len(known)) if known else None
