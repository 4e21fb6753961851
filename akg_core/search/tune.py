"""Tuning: propose schedules, build them side by side, time them, keep what was found.

A round builds as many candidates as there are cores, then times them, with the best so far among them, while nothing is
being built. What can be seen to be hopeless is not timed: a schedule whose bytes and products alone take longer than
the best, a kernel that spills. Everything measured is in the archive before the next step, so that a search can be
killed at any moment.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import platform
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from akg_core.errors import AkgError
from akg_core.judge.timing import floor
from akg_core.judge.verify import verify
from akg_core.records import HOST, Availability, KernelSource, Record, Schedule, Target, Task, Traits
from akg_core.runs import RunFolder
from akg_core.search.interleaved import TimingContext, time_interleaved
from akg_core.search.moves import Moves, Point, sketch_hash
from akg_core.search.prune import least_seconds, spilling, too_large, too_slow
from akg_core.spell import spell_seconds
from akg_core.stages import stages
from akg_core.stages.building import smaller_of, spills
from akg_core.stages.stages import Candidate, Design, Request
from akg_core.worker.usage import cores

if TYPE_CHECKING:
    from akg_core.judge.records import Verdict
    from akg_core.judge.reference.prepare import Prepared
    from akg_core.search.archive import Archive, Measurement
    from akg_core.stages.progress import StageNote
    from akg_core.worker.pool import Pool

_SHARE = 0.75  # of the last round's time that must be left for another
_EMITTING = 4  # candidates at a time, each by a process for a moment: several searches may build at once
FEWEST = 4  # candidates a round, however few cores there are
REFUSALS = ("incorrect", "crashed", "timed out")  # verdicts on one candidate that say nothing of other sketches
ROOFLINE = 1.1  # a kernel within this factor of the physical floor is not improved further


class Tuned(Record):
    """What searching found: candidates tried in all searches, seconds of this one, and medians in seconds.

    `first`: the first schedule of the designer's first sketch that runs and was not refused; `best`: the fastest.
    """

    tried: int
    seconds: float
    first: float | None
    best: float | None

    @property
    def gain(self) -> float | None:
        """How many times faster the best is than the first."""
        return self.first / self.best if self.first and self.best else None


@dataclass(frozen=True)
class SearchContext:
    """What a search stands on: the task and its designs, where candidates are built, what machine and chip can do."""

    pool: Pool
    request: Request
    task: Task
    designs: tuple[Design, ...]
    machine: floor.Machine
    traits: Traits


def open_archive(url: str, task: Task, request: Request, machine: Availability, versions: dict[str, str]) -> Archive:
    """The archive of this task, on this device, with these versions."""
    from akg_core.search.archive import Archive

    captured = task.model_dump(mode="json", exclude={"name", "notes"})
    host = f"{platform.node()} {cores()} " if machine.device == HOST else ""
    return Archive(
        url,
        task=_digest([captured, request.plugin, str(request.target)]),
        machine=f"{host}{_digest(machine.details)}",
        versions=json.dumps(versions, sort_keys=True),
    )


class Search:
    """One search: what has been measured, the best so far, and what to try next."""

    def __init__(self, ground: SearchContext, archive: Archive) -> None:
        self._ground, self._archive, self._designs = ground, archive, ground.designs
        self._name = _digest([sketch_hash(design) for design in ground.designs])
        self._defaults = [Point(number, design.default) for number, design in enumerate(ground.designs)]
        self._firsts = set(self._defaults)  # and these with smaller tiles, where they did not fit or spill
        self._moves = Moves(ground.designs, ground.request.seed or 0)
        self._numbers = itertools.count()
        self._built: dict[Point, Candidate] = {}
        self._waiting: list[Point] = []  # built, and not timed yet
        self._round_seconds = 0.0  # what building and timing the last round took
        self._assured: set[int] = set()  # designs of which a schedule was judged correct
        known = self._measured()
        for point, _ in known:
            self._moves.known(point)
        self._tried = self._known = len(known)
        self.best = self._fastest()

    @property
    def spent(self) -> float:
        """Seconds that all searches among these designs took."""
        return self._archive.spent(self._name)

    def go_on(self, prepared: Prepared, seconds: float, note: StageNote) -> Tuned:
        """Round after round for about `seconds`, to the roofline, or to the end of the space."""
        began = time.monotonic()
        least = floor.floor(self._ground.machine, prepared.ready())
        ended, passed = "time is up", 0.0
        while passed < seconds and (self._waiting or passed + _SHARE * self._round_seconds <= seconds):
            best = self._seconds_of_best()
            if best and least and best <= ROOFLINE * least.seconds:
                ended = "at the roofline"
                break
            if not self._waiting:
                self._assure(prepared)
            if not self._waiting and not self.build():
                ended = "nothing is left to try"
                break
            self._clock(prepared)
            note.text = self._said()
            self._archive.spent(self._name, time.monotonic() - began - passed)
            passed = time.monotonic() - began
        if ended == "time is up":
            self._archive.spent(self._name, max(0.0, seconds - passed))  # which was too little for another round
        note.text = f"{self._said()}; {ended}"
        return self.tuned(passed)

    def build(self) -> bool:
        """Propose the candidates of a round and build them side by side; False when there is nothing left to try."""
        began = time.monotonic()
        points = list(self._moves.propose(max(FEWEST, cores()), self.best))
        self._tried += len(points)
        again = [self.best] if points and self.best and self.best not in self._built else []
        chosen = [*self._promising(points), *again]
        with ThreadPoolExecutor(max_workers=min(_EMITTING, cores())) as emitting:
            emitted = [(point, made) for point, made in zip(chosen, emitting.map(self._emit, chosen), strict=True)]
        made = [(point, source, folder) for point, found in emitted if found for source, folder in [found]]
        pool, request = self._ground.pool, self._ground.request
        results = stages.build_all(pool, request, [(source, folder.kernel) for _, source, folder in made])
        for (point, _, folder), result in zip(made, results, strict=True):
            folder.write("build.log", result.log)
            design = self._designs[point.design]
            if result.artifact is None:
                self._store(point, "build failed", reason=result.log[-4000:])
                self._step_down(point, (each.kernel for each in result.shortages), every=True)
                continue
            self._built[point] = Candidate(
                design, point.schedule, folder=folder.path, artifact=result.artifact, details=result.details
            )
            if point in self._firsts and any(result.spilled.values()):
                (launches,) = stages.work(pool, design, [point.schedule])
                over = spills(launches, result.spilled)
                self._step_down(point, (each.kernel for each in over), every=False)
        self._waiting = [point for point in chosen if point in self._built]
        self._round_seconds = time.monotonic() - began
        return bool(points)

    def ranking(self) -> list[Candidate]:
        """What runs and was not refused, the fastest first; sketches that were once refused come last.

        Then what the designer would take of sketches that were not timed, for they may be the only ones that are right.
        """
        timed = [(point, seconds) for point, seconds in self._measured() if seconds is not None]
        seen, failed = {point.design for point, _ in timed}, self._failed()
        others = [(p, None) for p in self._defaults if p.design not in seen and p not in failed]
        return [
            replace(self._built.get(p, Candidate(self._designs[p.design], p.schedule)), seconds=seconds)
            for p, seconds in (*timed, *others)
        ]

    def refuse(self, refused: Iterable[tuple[Candidate, Verdict]]) -> None:
        """Store what the judge says of candidates that it does not find correct."""
        for candidate, verdict in refused:
            sketch = sketch_hash(candidate.design)
            self._archive.record(sketch, candidate.schedule.values, verdict.status, reason=verdict.reason)

    def close(self) -> None:
        """Give the archive's connections back."""
        self._archive.close()

    def tuned(self, seconds: float = 0.0) -> Tuned:
        """What is known now; this search took `seconds`."""
        refused = self._refused()
        timed = {p: took for p, took in self._measured() if took is not None and p.design not in refused}
        return Tuned(
            tried=self._tried,
            seconds=seconds,
            first=next((timed[point] for point in self._defaults if point in timed), None),
            best=min(timed.values(), default=None),
        )

    def _promising(self, points: list[Point]) -> list[Point]:
        """Those that fit and may be faster than the best, by what the schedule holds, moves and computes.

        A sketch's first schedule is tried even where its tiles could not be made small enough.
        """

        def reasons_of_size(design: int, mine: list[Point]) -> list[str]:
            schedules = [point.schedule for point in mine]
            held = stages.held(self._ground.pool, self._designs[design], schedules, self._ground.traits.copies)
            found = too_large(held, self._ground.traits.program_bytes)
            return ["" if point in self._firsts else reason for point, reason in zip(mine, found, strict=True)]

        if self._ground.traits.program_bytes:
            points = self._kept(points, reasons_of_size)

        def reasons(design: int, mine: list[Point]) -> list[str]:
            found = stages.work(self._ground.pool, self._designs[design], [point.schedule for point in mine])
            least = [least_seconds(launches, self._ground.machine, self._ground.traits.units) for launches in found]
            return too_slow(least, self._seconds_of_best())

        return self._kept(points, reasons)

    def _step_down(self, point: Point, kernels: Iterable[str], *, every: bool) -> None:
        """Have a first schedule tried with smaller tiles of some kernels, and again where that does not help."""
        design = self._designs[point.design]
        if point in self._firsts and (following := smaller_of(Candidate(design, point.schedule), kernels, every=every)):
            self._firsts.add(stepped := Point(point.design, following.schedule))
            self._moves.want(stepped)

    def _sparing(self, points: list[Point]) -> list[Point]:
        """Those that do not spill registers, as far as schedules of their sketch need not, and the designer's guess."""

        def reasons(_: int, mine: list[Point]) -> list[str]:
            found = spilling([self._built[point].details for point in mine])
            return ["" if point in self._defaults else reason for point, reason in zip(mine, found, strict=True)]

        return self._kept(points, reasons)

    def _kept(self, points: list[Point], reasons: Callable[[int, list[Point]], list[str]]) -> list[Point]:
        """Those that nothing speaks against, design by design; why the others are not timed is stored."""
        found: dict[Point, str] = {}
        for design in {point.design for point in points}:
            mine = [point for point in points if point.design == design]
            found |= zip(mine, reasons(design, mine), strict=True)
        for point, reason in found.items():
            if reason:
                self._store(point, "pruned", reason=reason)
        return [point for point in points if not found[point]]

    def _emit(self, point: Point) -> tuple[KernelSource, RunFolder] | None:
        """A candidate's source, in a folder of its own; what is refused is stored, not raised."""
        ground, design = self._ground, self._designs[point.design]
        folder = RunFolder(ground.pool.folder / f"candidates-{id(self)}" / str(next(self._numbers)))
        try:
            source, findings = stages.emit(ground.pool, ground.request, design, point.schedule)
            stages.require_allowed(findings)
        except AkgError as error:
            self._store(point, "refused", reason=str(error))
            return None
        folder.write("sketch.py", design.sketch.text)
        folder.write("schedule.json", point.schedule)
        folder.write_source(source, ground.task.source)
        return source, folder

    def _clock(self, prepared: Prepared) -> None:
        """Time what was built, and the best so far; store what was found."""
        began = time.monotonic()
        runners = self._sparing(self._waiting)
        if self.best and self.best in self._built and self.best not in runners:
            runners.append(self.best)
        self._waiting = []
        ground = self._ground
        target = ground.request.target or Target(backend="")
        context = TimingContext(ground.pool, prepared, ground.request.plugin, target)
        timings = time_interleaved(
            context, [artifact for point in runners if (artifact := self._built[point].artifact)]
        )
        for point, timing in zip(runners, timings, strict=True):
            status = "failed" if timing.failure else "timed"
            self._store(point, status, seconds=timing.seconds, samples=list(timing.samples), reason=timing.failure)
        self.best = self._fastest()
        self._round_seconds += time.monotonic() - began

    def _store(self, point: Point, status: str, **fields: Any) -> None:
        self._archive.record(sketch_hash(self._designs[point.design]), point.schedule.values, status, **fields)

    def _assure(self, prepared: Prepared) -> None:
        """Have the judge look at the best, once for each sketch, before more is built around it."""
        ground, target = self._ground, self._ground.request.target or Target(backend="")
        while self.best in self._built and self.best.design not in self._assured | self._refused():
            artifact = self._built[self.best].artifact
            assert artifact is not None
            limit = ground.request.time_limit
            verdict = verify(ground.pool, prepared, ground.request.plugin, artifact, target, seconds=limit)
            if verdict.status in REFUSALS:
                self.refuse([(self._built[self.best], verdict)])
                self.best = self._fastest()
            else:
                self._assured.add(self.best.design)

    def _rows(self) -> list[tuple[int, Measurement]]:
        """What the archive holds of these designs, each row with the number of its design."""
        numbers = {sketch_hash(design): number for number, design in enumerate(self._designs)}
        return [(numbers[row.sketch], row) for row in self._archive.rows() if row.sketch in numbers]

    def _refused(self) -> set[int]:
        """Designs of which the judge refused a schedule: mostly, what is wrong with one is wrong with all."""
        return {number for number, row in self._rows() if row.status in REFUSALS}

    @staticmethod
    def _point(number: int, row: Measurement) -> Point:
        return Point(number, Schedule(values=json.loads(row.schedule)))

    def _failed(self) -> set[Point]:
        """Candidates that could not be emitted, built or run, or that the judge refused."""
        return {self._point(number, row) for number, row in self._rows() if row.status not in ("timed", "pruned")}

    def _measured(self) -> list[tuple[Point, float | None]]:
        """Every candidate known, the fastest first, those of refused designs last; None for what has no time."""
        refused = self._refused()
        return [
            (self._point(number, row), row.seconds if row.status == "timed" else None)
            for number, row in sorted(self._rows(), key=lambda each: each[0] in refused)
        ]

    def _fastest(self) -> Point | None:
        return next((point for point, seconds in self._measured() if seconds is not None), None)

    def _seconds_of_best(self) -> float | None:
        return next((seconds for point, seconds in self._measured() if point == self.best), None)

    def _said(self) -> str:
        known = f" ({self._known} from before)" if self._known else ""
        seconds = self._seconds_of_best()
        best = f", best {spell_seconds(seconds)}" if seconds else ", none runs"
        return f"{self._tried} of {self._moves.size} tried{known}{best}"


def _digest(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]
