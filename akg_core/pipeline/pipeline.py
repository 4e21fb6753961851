"""The main job: from a reference file to a verified, measured kernel, stage by stage.

Every stage runs in worker processes, tells its progress, and writes what it found into the run's folder at once. The
judge prepares its reference data, and the baseline of the timing warms up, while the kernel is designed and built.
"""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from akg_core.built_from import digests
from akg_core.errors import AkgError, DoesNotFit, KernelFailed, ToolchainError
from akg_core.judge.candidate.session import CandidateSession, Steps
from akg_core.judge.records import Timing, Verdict
from akg_core.judge.reference.prepare import Prepared, prepare
from akg_core.judge.timing import floor
from akg_core.judge.timing.baseline import MODES
from akg_core.judge.timing.measure import Baselines, measure
from akg_core.judge.verify import examine
from akg_core.pipeline.choosing import ATTEMPTS, following
from akg_core.pipeline.results import DETAILS, Failure, RunResult, advice_on, by_kernel, versions
from akg_core.records import (
    HOST,
    Artifact,
    Availability,
    CompileResult,
    KernelSource,
    Scalar,
    Schedule,
    Target,
    Task,
)
from akg_core.registry import forward_trace
from akg_core.runs import RunFolder
from akg_core.search.tune import REFUSALS, Search, SearchContext, Tuned, open_archive
from akg_core.spell import count_of
from akg_core.stages import building, stages
from akg_core.stages.progress import Progress
from akg_core.stages.stages import Candidate, Design, Request
from akg_core.stages.variants import Variants

if TYPE_CHECKING:
    from akg_core.worker.pool import Pool

SIMULATED_WORK = 1 << 17  # elements moved by one call, to which a task is made smaller where kernels are simulated
_SHARE = 0.8  # of a device's memory that judging may take; processes that start or have ended beside it take some


class Pipeline:
    """The stages of one request, sharing a pool of workers, a progress and a folder."""

    def __init__(self, request: Request, pool: Pool, folder: RunFolder, progress: Progress) -> None:
        self.request, self.pool, self.folder, self.progress = request, pool, folder, progress
        self.task: Task | None = None
        self.verdict: Verdict | None = None
        self.judged: dict[str, str] = {}
        self.timing: Timing | None = None
        self.tuned: Tuned | None = None
        self.share = _SHARE
        self.steps: Steps | None = None  # that a simulation of the kernel takes, where that is known
        self.details: dict[str, Scalar] = {}
        self.notes: tuple[str, ...] = ()
        self.refused: tuple[tuple[Candidate, Verdict], ...] = ()  # by the judge
        self.unbuilt: tuple[tuple[Candidate, AkgError], ...] = ()
        self.told: tuple[str, ...] = ()  # of what was tried and did not become the kernel
        self.target = request.target or Target(backend="")
        self._probe = pool.background(stages.probe, pool, request)

    def apart(self, folder: Path) -> Pipeline:
        """This pipeline for one kernel more, in a folder of its own and watched by nobody."""
        other = copy.copy(self)
        other.folder, other.progress = RunFolder(folder), Progress()
        return other

    def capture(self) -> Task:
        """The reference file as a Task; writes task.json and reference.py."""
        with self.progress.stage("capture") as note:
            self.task = task = stages.capture(self.pool, self.request, SIMULATED_WORK if self.simulated else 0)
            self.folder.write("task.json", task)
            self.folder.write("reference.py", task.source)
            note.text = f"{count_of(len(task.graph.nodes), 'operator')} on {_spell_arguments(task)}"
        return task

    def reference(self, task: Task, patient: bool = False) -> Prepared:
        """The process that knows the answers, started.

        `patient`: all that it does before `begin` is to start.
        """
        folder = Path(tempfile.mkdtemp(prefix="cases-", dir=self.pool.folder))
        return prepare(
            self.pool,
            task,
            folder,
            plugin=self.request.plugin,
            target=self.target,
            lends=self.available.device != HOST,
            room=self.room,
            seed=self.request.seed,
            patient=patient,
            simulated=self.simulated,
        )

    def baselines(self, prepared: Prepared) -> Baselines:
        """Eager and (unless it is not wanted) torch.compile, warming up in the background."""
        return Baselines(self.pool, prepared, MODES if self.request.baseline else MODES[:1])

    @property
    def simulated(self) -> bool:
        """Whether kernels run by simulation on this machine."""
        return self.available.simulated

    @property
    def room(self) -> int:
        """Bytes of a device's memory that judging may take; 0 on the host, and where they are not known."""
        return int(self.share * self.available.memory_bytes) if self.available.device != HOST else 0

    def require_clock(self) -> None:
        """Raise ToolchainError where kernels run by simulation, so that their times mean nothing."""
        if self.simulated:
            raise ToolchainError(f"Nothing can be timed. {self.available.reason}", "Use a machine that has the device.")

    @property
    def available(self) -> Availability:
        """What the plugin finds on this machine."""
        return self._probe.result()

    def require_toolchain(self) -> Availability:
        """What the plugin finds on this machine; raises ToolchainError when it cannot compile and run here."""
        return stages.require_usable(self.available, self.request.plugin)

    def design(self, task: Task) -> Variants:
        """Sketches for the task, the best guess first, which is designed and written as sketch.py."""
        variants = Variants(
            lambda number: stages.design(self.pool, self.request, task, self.available.traits, number),
            lambda: self.progress.stage("design"),
            self._keep,
        )
        self.folder.write("sketch.py", variants.first.sketch.text)
        return variants

    def emit(self, task: Task, design: Design, schedule: Schedule) -> KernelSource:
        """Source for a sketch under a schedule; writes all three. Raises KernelFailed when the plugin forbids it."""
        self.folder.write("sketch.py", design.sketch.text)
        self.folder.write("schedule.json", schedule)
        with self.progress.stage("emit") as note:
            source, findings = stages.emit(self.pool, self.request, design, schedule)
            self.folder.write_source(source, task.source)
            stages.require_allowed(findings)
            self.steps = partial(stages.steps, self.pool, design, schedule) if self.simulated else None
            written = {key.rpartition(":")[0] for key in source.line_map}
            note.text = ", ".join(f"{name} {source.files[name].count(chr(10))} lines" for name in sorted(written))
        return source

    def compile(self, design: Design, source: KernelSource, said: str = "") -> CompileResult:
        """The kernel that is built; writes build.log. `said`: what else there is to say.

        Raises KernelFailed with the compiler's message by the sketch's line, DoesNotFit where the chip has too little.
        """
        with self.progress.stage("compile") as note:
            compiled, advice = stages.build(self.pool, self.request, source, self.folder.kernel)
            log = self.folder.write("build.log", compiled.log)
            whole = f"The whole message is in {log}."
            if compiled.shortages:
                said = building.spell_shortages(compiled.shortages)
                raise DoesNotFit(f"{said}.", whole, compiled.shortages)
            if compiled.artifact is None:
                where = building.explained(advice, source, design.sketch)
                raise KernelFailed(f"The kernel does not compile{where}", whole)
            note.text = ", ".join(filter(None, ["from the cache" * compiled.cached, said]))
        self.describe(compiled.details)
        return compiled

    def made(self, task: Task, candidate: Candidate) -> Candidate:
        """A candidate whose kernel is in the run's folder: emitted and compiled, or as a search has built it."""
        if candidate.folder is None or candidate.artifact is None:
            source = self.emit(task, candidate.design, candidate.schedule)
            found = self.compile(candidate.design, source, "".join(self.told[-1:]) if candidate.instead_of else "")
            return replace(candidate, artifact=found.artifact, details=found.details, spilled=found.spilled)
        self.folder.adopt(candidate.folder)
        self.describe(candidate.details)
        return replace(candidate, artifact=candidate.artifact.model_copy(update={"folder": self.folder.kernel}))

    def build(self, task: Task, candidates: Iterable[Candidate]) -> Candidate | None:
        """The one to judge next, built in the run's folder; None when there is none, or enough were tried.

        What cannot be built is followed by the next design. Raises why when no kernel comes of the designer's sketches,
        or none of a sketch that was given.
        """
        failed = len(self.unbuilt)
        while candidate := following(candidates, self.refused, [each.design for each, _ in self.unbuilt]):
            if self.request.sketch or candidate.artifact:
                return self.made(task, candidate)
            try:
                return building.fitted(candidate, self.pool, partial(self.made, task), self.tell)
            except building.ELSEWHERE as error:
                self.unbuilt += ((candidate, error),)
                self.tell(candidate, f"it was refused: {error.message.rstrip('.')}")
        if failed < len(self.unbuilt) and self.refused:  # the folder holds what was judged last
            self.made(task, self.refused[-1][0])
        elif self.unbuilt and not self.refused:
            raise building.unbuildable(self.unbuilt)
        return None

    def tell(self, candidate: Candidate, what: str) -> None:
        """Keep, for the report, why something else is tried than a candidate."""
        self._keep(f"The variant {candidate.design.sketch.name}: {what}.")

    def _keep(self, said: str) -> None:
        self.told += (said,)

    def describe(self, details: dict[str, Scalar]) -> None:
        """Keep what the compiler tells of the kernels, beside them too."""
        self.details = details
        self.folder.write(f"kernel/{DETAILS}", json.dumps(details, indent=1) + "\n")

    def session(self, prepared: Prepared, artifact: Artifact) -> CandidateSession:
        """The kernel in the process that it will be judged in, which begins to load it."""
        begin = partial(CandidateSession, seconds=self.request.time_limit, simulated=self.simulated, steps=self.steps)
        return begin(self.pool, prepared, self.request.plugin, artifact, self.target)

    def verify(self, prepared: Prepared, artifact: Artifact, session: CandidateSession | None = None) -> Verdict:
        """The judge's verdict, on the `session` where the kernel is being loaded already; writes verdict.json."""
        with self.progress.stage("verify") as note:
            found = examine(session or self.session(prepared, artifact), note.tell)
            self.verdict, self.judged = found, digests(artifact.folder)
            forward_trace(found.log)
            self.folder.write("verdict.json", found)
            passed = sum(case.ok for case in found.cases)
            note.text = f"{passed} cases{', by simulation' * self.simulated}" if found.correct else found.status
            note.failed = not found.correct
        return found

    def search(self, task: Task, designs: tuple[Design, ...], archive: str = "") -> Search:
        """A search among the designs; close it. Raises ToolchainError where nothing can be timed."""
        from akg_core.search.archive import default_url

        self.require_clock()
        where = {"plugin": self.request.plugin, "target": self.target.model_dump(mode="json")}
        machine, found = floor.machine(self.pool, where), self.available
        ground = SearchContext(self.pool, self.request, task, designs, machine, found.traits)
        software = versions(self.request.plugin, found)
        return Search(ground, open_archive(archive or default_url(), task, self.request, found, software))

    def tune(self, prepared: Prepared, search: Search, seconds: float, more: bool = False) -> list[Candidate]:
        """Search for `seconds`, less what earlier searches took unless there is to be `more`; the fastest first."""
        with self.progress.stage("search") as note:
            self.tuned = search.go_on(prepared, seconds if more else seconds - search.spent, note)
        return search.ranking()

    def settle(self, search: Search) -> None:
        """Have a search know what the judge refused; what was found is without it."""
        search.refuse(self.refused)
        self.tuned = search.tuned(self.tuned.seconds if self.tuned else 0.0)

    def refuse(self, judged: Candidate, timing: Timing) -> bool:
        """Whether a kernel that was judged correct was wrong while it was timed; it is one of the refused then."""
        if timing.status not in REFUSALS or self.verdict is None:
            return False
        why = self.verdict.model_copy(update={"status": "incorrect", "reason": timing.reason})
        self.refused += ((judged, why),)
        return True

    def accept(
        self,
        prepared: Prepared,
        candidates: Iterable[Candidate],
        built: Candidate | None = None,
        tries: int = ATTEMPTS,
        session: CandidateSession | None = None,
    ) -> Candidate:
        """The first of `candidates` that is judged correct, built; `built` is the one to judge next.

        `session` is what is built, being loaded. So many are tried at most; without a correct one it is the
        last of them. Raises ValueError when none is left.
        """
        judged: Candidate | None = None
        while tries and len(self.refused) < ATTEMPTS:
            candidate, built = built or self.build(prepared.task, candidates), None
            if candidate is None:
                break
            assert candidate.artifact is not None
            judged, tries = candidate, tries - 1
            found, session = self.verify(prepared, candidate.artifact, session), None
            if found.status not in REFUSALS:
                break
            self.refused += ((candidate, found),)
        if judged is None:
            raise ValueError("none of the candidates is left to be judged")
        if said := self.refusals(judged):
            self.verdict = found.model_copy(update={"notes": (*found.notes, *said)})
            self.folder.write("verdict.json", self.verdict)
        return judged

    def refusals(self, judged: Candidate) -> tuple[str, ...]:
        """What was refused before the one that was judged last, by compiler or judge, and why."""
        refused = (
            f"The variant {each.design.sketch.name} was refused: {why.reason}"
            for each, why in self.refused
            if each is not judged
        )
        return (*self.told, *refused)

    def time(self, prepared: Prepared, artifact: Artifact, baselines: Baselines | None, seconds: float = 2.0) -> Timing:
        """The kernel and its baselines in turns, for about `seconds`; writes timing.json."""
        self.require_clock()
        with self.progress.stage("time") as note:
            plugin = self.request.plugin
            found = measure(self.pool, prepared, plugin, artifact, self.target, baselines, seconds=seconds)
            self.timing = found
            self.folder.write("timing.json", found)
            note.failed = found.status != "ok"
            note.text = found.reason or ", ".join(each.said for each in found.speedups)
        return found

    def judge(
        self,
        prepared: Prepared,
        candidates: Iterable[Candidate],
        baselines: Baselines,
        built: Candidate | None = None,
    ) -> None:
        """Verify, candidate by candidate, and time what is correct; one that is wrong then is followed by another."""
        while True:
            judged = self.accept(prepared, candidates, built)
            assert judged.artifact is not None
            if not (self.verdict and self.verdict.correct):
                self.progress.skip("time", "only a correct kernel is timed")
                return
            if self.simulated:
                self.progress.skip("time", "a simulated kernel has no time")
                return
            if not self.refuse(judged, self.time(prepared, judged.artifact, baselines)):
                return
            built = self.build(prepared.task, candidates)
            if built is None:
                return

    def result(self, failure: Failure | None = None) -> RunResult:
        """What is known now."""
        failed = not self._probe.done() or self._probe.exception()
        return RunResult(
            task=self.task.name if self.task else self.request.reference.stem,
            plugin=self.request.plugin,
            target=str(self.target),
            stages=self.progress.stages,
            verdict=self.verdict,
            judged=self.judged,
            timing=self.timing,
            tuned=self.tuned,
            kernels=by_kernel(self.details),
            error=failure,
            notes=(
                *(self.task.notes if self.task else ()),
                *self.notes,
                *(() if self.verdict else self.told),
                *advice_on(self.timing, self.tuned),
            ),
            folder=str(self.folder.path),
            versions=versions(self.request.plugin, None if failed else self.available),
        )


def _spell_arguments(task: Task) -> str:
    parts = [
        f"{argument.dtype}[{', '.join(map(str, argument.shape))}]" if argument.kind == "tensor" else argument.kind
        for argument in task.interface.arguments
    ]
    return ", ".join(parts) or "no arguments"
