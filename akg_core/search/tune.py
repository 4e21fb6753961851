"""Tuning: propose schedules, build them side by side, time them in turns, keep the best that verifies.

A round builds a few candidates on all cores, then times them, with the best so far among them, while nothing is being
built. Everything measured is in the archive before the next step, so that a search can be killed at any moment.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from akg_core import stages
from akg_core.errors import AkgError, KernelFailed
from akg_core.judge import floor
from akg_core.judge.prepare import Prepared
from akg_core.pipeline import Pipeline, RunResult, conduct, versions
from akg_core.progress import Stage, StageNote
from akg_core.records import Artifact, Availability, Schedule, Task
from akg_core.report.spell import spell_seconds
from akg_core.runs import RunFolder
from akg_core.search.moves import Moves, Point, sketch_hash
from akg_core.search.race import race
from akg_core.stages import Design, Request

if TYPE_CHECKING:
    from akg_core.search.archive import Archive

BATCH = 4  # candidates a round
ROOFLINE = 1.1  # a kernel within this factor of the physical floor is not improved further
TRIES = 5  # candidates that may fail to verify before the search gives up


@dataclass(frozen=True)
class Best:
    """The fastest candidate so far; `artifact` is None when it comes from the archive and is not built yet."""

    point: Point
    seconds: float
    artifact: Artifact | None = None


def tune(
    request: Request, folder: RunFolder, watch: Callable[[Stage], None], *, seconds: float, archive_url: str
) -> RunResult:
    """Search for about `seconds`; the best candidate that verifies becomes the kernel of the run."""

    def work(pipeline: Pipeline) -> None:
        task = pipeline.capture()
        machine = pipeline.require_toolchain()
        pipeline.require_clock()
        with (
            pipeline.reference(task) as prepared,
            closing(open_archive(archive_url, task, request, machine)) as archive,
        ):
            designs = pipeline.design(task)
            search = Search(pipeline, prepared, designs, archive)
            with pipeline.progress.stage("search") as note:
                search.go_on(time.monotonic() + seconds, note)
            _finish(pipeline, prepared, designs, archive)

    return conduct(request, folder, watch, work)


def open_archive(url: str, task: Task, request: Request, machine: Availability) -> Archive:
    """The archive of this task, on this machine, with these versions."""
    from akg_core.search.archive import Archive

    captured = task.model_dump(mode="json", exclude={"name", "notes"})
    return Archive(
        url,
        task=_digest([captured, request.plugin, str(request.target)]),
        machine=f"{platform.node()} {os.cpu_count()} {_digest(machine.details)}",
        versions=json.dumps(versions(), sort_keys=True),
    )


class Search:
    """One search: what has been measured, the best so far, and what to try next."""

    def __init__(self, pipeline: Pipeline, prepared: Prepared, designs: tuple[Design, ...], archive: Archive) -> None:
        self._pipeline, self._prepared, self._designs, self._archive = pipeline, prepared, designs, archive
        self._moves = Moves(designs, pipeline.request.seed)
        self._numbers = itertools.count()
        self.tried = 0
        self.best: Best | None = None
        for point, seconds in ranking(designs, archive, timed_only=False):
            self._moves.known(point)
            self.best = self.best or (Best(point, seconds) if seconds is not None else None)
            self.tried += 1
        self._known = self.tried

    def go_on(self, deadline: float, note: StageNote) -> None:
        """Round after round until `deadline`, the roofline, or the end of the space."""
        ended = "time is up"
        while time.monotonic() < deadline:
            if self.best and self.best.seconds <= ROOFLINE * self._floor:
                ended = "at the roofline"
                break
            points = self._moves.propose(BATCH, self.best.point if self.best else None)
            if not points:
                ended = "nothing is left to try"
                break
            self._round(points)
            note.text = self._said()
        note.text = f"{self._said()}; {ended}"

    def _round(self, points: tuple[Point, ...]) -> None:
        """Build `points`, time them and the best so far in turns, store what was found."""
        again = (self.best.point,) if self.best and not self.best.artifact else ()
        with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as builders:
            built = dict(zip((*points, *again), builders.map(self._build, (*points, *again)), strict=True))
        runners = {point: artifact for point, artifact in built.items() if artifact}
        if self.best and self.best.artifact:
            runners[self.best.point] = self.best.artifact
        pool, plugin, target = self._pipeline.pool, self._pipeline.request.plugin, self._pipeline.target
        laps = dict(zip(runners, race(pool, self._prepared, plugin, list(runners.values()), target), strict=True))
        for point, lap in laps.items():
            self._store(
                point,
                "failed" if lap.failure else "timed",
                seconds=lap.seconds,
                samples=list(lap.samples),
                reason=lap.failure,
            )
        self.tried += len(points)
        timed = {point: lap.seconds for point, lap in laps.items() if lap.seconds is not None}
        if timed:
            fastest = min(timed, key=timed.__getitem__)
            self.best = Best(fastest, timed[fastest], runners[fastest])

    def _build(self, point: Point) -> Artifact | None:
        """Emit and compile one candidate in a folder of its own; what fails is stored, not raised."""
        pool, request = self._pipeline.pool, self._pipeline.request
        folder = RunFolder(pool.folder / "candidates" / str(next(self._numbers)))
        try:
            source, findings = stages.emit(pool, request, self._designs[point.design], point.schedule)
            stages.require_allowed(findings)
            folder.write_source(source, self._prepared.task.source)
            compiled, _ = stages.build(pool, request, source, folder.kernel)
        except AkgError as error:
            self._store(point, "refused", reason=str(error))
            return None
        if compiled.artifact is None:
            self._store(point, "build failed", reason=compiled.log[-4000:])
        return compiled.artifact

    def _store(self, point: Point, status: str, **fields: Any) -> None:
        self._archive.record(sketch_hash(self._designs[point.design]), point.schedule.values, status, **fields)

    @functools.cached_property
    def _floor(self) -> float:
        """The least time that the machine could take for the task, in seconds; 0 when it is not known."""
        least = floor.floor(floor.machine(self._pipeline.pool, self._prepared.where), self._prepared.ready())
        return least.seconds if least else 0.0

    def _said(self) -> str:
        known = f" ({self._known} from before)" if self._known else ""
        best = f", best {spell_seconds(self.best.seconds)}" if self.best else ", none runs"
        return f"{self.tried} of {self._moves.size} tried{known}{best}"


def ranking(designs: tuple[Design, ...], archive: Archive, timed_only: bool = True) -> list[tuple[Point, float | None]]:
    """What the archive holds of these designs, the fastest first."""
    numbers = {sketch_hash(design): number for number, design in enumerate(designs)}
    return [
        (
            Point(numbers[row.sketch], Schedule(values=json.loads(row.schedule))),
            row.seconds if row.status == "timed" else None,
        )
        for row in archive.rows()
        if row.sketch in numbers and (row.status == "timed" or not timed_only)
    ]


def _finish(pipeline: Pipeline, prepared: Prepared, designs: tuple[Design, ...], archive: Archive) -> None:
    """Build, verify and time the fastest. One that does not verify is stored as such, and the fastest of another sketch
    takes its place, then another schedule: what is wrong with one schedule of a sketch is mostly wrong with all."""
    waiting, refused = [point for point, _ in ranking(designs, archive)], set[int]()
    with pipeline.baselines(prepared) as baselines:
        for _ in range(min(TRIES, len(waiting))):
            point = min(waiting, key=lambda other: other.design in refused)
            waiting.remove(point)
            design = designs[point.design]
            artifact = pipeline.compile(design, pipeline.emit(prepared.task, design, point.schedule))
            verdict = pipeline.verify(prepared, artifact)
            if verdict.correct:
                pipeline.time(prepared, artifact, baselines)
                return
            archive.record(sketch_hash(design), point.schedule.values, verdict.status, reason=verdict.reason)
            refused.add(point.design)
    raise KernelFailed(
        "No candidate was found that runs and is judged correct.", "`akg-core run` shows what is wrong with the first."
    )


def _digest(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]
