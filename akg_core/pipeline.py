"""The main job: from a reference file to a verified, measured kernel, stage by stage.

Every stage runs in worker processes, tells its progress, and writes what it found into the run's folder at once. The
judge prepares its reference data, and the baseline of the timing warms up, while the kernel is designed and built.
"""

from __future__ import annotations

import copy
import importlib.metadata
import json
import platform
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import akg_core
from akg_core import stages
from akg_core.errors import KernelFailed, ToolchainError
from akg_core.judge import floor
from akg_core.judge.baseline import MODES
from akg_core.judge.examinee import Examinee
from akg_core.judge.prepare import Prepared, prepare
from akg_core.judge.records import Timing, Verdict
from akg_core.judge.timing import Baselines, measure
from akg_core.judge.verify import examine
from akg_core.progress import Progress
from akg_core.records import (
    HOST,
    Advice,
    Artifact,
    Availability,
    KernelSource,
    Scalar,
    Schedule,
    Sketch,
    Target,
    Task,
)
from akg_core.registry import forward_trace
from akg_core.results import DETAILS, Failure, RunResult, by_kernel
from akg_core.runs import RunFolder
from akg_core.search.tune import REFUSALS, Ground, Search, Tuned, open_archive
from akg_core.stages import Candidate, Design, Request

if TYPE_CHECKING:
    from akg_core.worker.pool import Pool

ATTEMPTS = 3  # candidates that are tried when the judge refuses the first
SIMULATED_WORK = 1 << 16  # elements moved by one call, to which a task is made smaller where kernels are simulated
_SHARE = 0.8  # of a device's memory that judging may take; processes that start or have ended beside it take some


class Pipeline:
    """The stages of one request, sharing a pool of workers, a progress and a folder."""

    def __init__(self, request: Request, pool: Pool, folder: RunFolder, progress: Progress) -> None:
        self.request, self.pool, self.folder, self.progress = request, pool, folder, progress
        self.task: Task | None = None
        self.verdict: Verdict | None = None
        self.timing: Timing | None = None
        self.tuned: Tuned | None = None
        self.share = _SHARE
        self.details: dict[str, Scalar] = {}
        self.notes: tuple[str, ...] = ()
        self.refused: tuple[tuple[Candidate, Verdict], ...] = ()
        self.target = request.target or Target(backend="")
        self._probe = pool.submit("akg_core.stage_jobs:probe_job", stages.addressed(request))

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

    def reference(self, task: Task, seconds: float = 4.0, patient: bool = False) -> Prepared:
        """The process that knows the answers, started; it works on further cases for about `seconds` meanwhile.

        `patient`: all that it does before `begin` is to start.
        """
        folder = Path(tempfile.mkdtemp(prefix="cases-", dir=self.pool.folder))
        return prepare(
            self.pool,
            task,
            folder,
            plugin=self.request.plugin,
            target=self.target,
            lends=self._found().device != HOST,
            room=self.room,
            seed=self.request.seed,
            seconds=seconds,
            patient=patient,
        )

    def baselines(self, prepared: Prepared) -> Baselines:
        """Eager and (unless it is not wanted) torch.compile, warming up in the background."""
        return Baselines(self.pool, prepared, MODES if self.request.baseline else MODES[:1])

    @property
    def simulated(self) -> bool:
        """Whether kernels run by simulation on this machine."""
        return self._found().simulated

    @property
    def room(self) -> int:
        """Bytes of a device's memory that judging may take; 0 on the host, and where they are not known."""
        return int(self.share * self._found().memory_bytes) if self._found().device != HOST else 0

    def require_clock(self) -> None:
        """Raise ToolchainError where kernels run by simulation, so that their times mean nothing."""
        if self.simulated:
            raise ToolchainError(f"Nothing can be timed. {self._found().reason}", "Use a machine that has the device.")

    def _found(self) -> Availability:
        return Availability(**self._probe.result().unwrap())

    def require_toolchain(self) -> Availability:
        """What the plugin finds on this machine; raises ToolchainError when it cannot compile and run here."""
        return stages.require_usable(self._found(), self.request.plugin)

    def design(self, task: Task) -> tuple[Design, ...]:
        """Sketches for the task, the best guess first; writes it as sketch.py."""
        with self.progress.stage("design") as note:
            designs = stages.design(self.pool, self.request, task)
            self.folder.write("sketch.py", designs[0].sketch.text)
            kernels = count_of(designs[0].sketch.text.count("@kernel"), "kernel")
            note.text = kernels + (f", the first of {len(designs)} variants" if len(designs) > 1 else "")
        return designs

    def emit(self, task: Task, design: Design, schedule: Schedule) -> KernelSource:
        """Source for a sketch under a schedule; writes all three. Raises KernelFailed when the plugin forbids it."""
        self.folder.write("sketch.py", design.sketch.text)
        self.folder.write("schedule.json", schedule)
        with self.progress.stage("emit") as note:
            source, findings = stages.emit(self.pool, self.request, design, schedule)
            self.folder.write_source(source, task.source)
            stages.require_allowed(findings)
            written = {key.rpartition(":")[0] for key in source.line_map}
            note.text = ", ".join(f"{name} {source.files[name].count(chr(10))} lines" for name in sorted(written))
        return source

    def compile(self, design: Design, source: KernelSource) -> Artifact:
        """The built kernel; writes build.log. Raises KernelFailed with the compiler's message by the sketch's line."""
        with self.progress.stage("compile") as note:
            compiled, advice = stages.build(self.pool, self.request, source, self.folder.kernel)
            log = self.folder.write("build.log", compiled.log)
            if compiled.artifact is None:
                where = _explain(advice, source, design.sketch)
                raise KernelFailed(f"The kernel does not compile{where}", f"The whole message is in {log}.")
            note.text = "from the cache" if compiled.cached else ""
        self.describe(compiled.details)
        return compiled.artifact

    def made(self, task: Task, candidate: Candidate) -> Artifact:
        """The kernel of a candidate, in the run's folder: emitted and compiled, or as a search has built it."""
        if candidate.folder is None or candidate.artifact is None:
            return self.compile(candidate.design, self.emit(task, candidate.design, candidate.schedule))
        self.folder.adopt(candidate.folder)
        self.describe(candidate.details)
        return candidate.artifact.model_copy(update={"folder": self.folder.kernel})

    def describe(self, details: dict[str, Scalar]) -> None:
        """Keep what the compiler tells of the kernels, beside them too."""
        self.details = details
        self.folder.write(f"kernel/{DETAILS}", json.dumps(details, indent=1) + "\n")

    def examinee(self, prepared: Prepared, artifact: Artifact) -> Examinee:
        """The kernel in the process that it will be judged in, which begins to load it."""
        plugin, seconds = self.request.plugin, self.request.time_limit
        return Examinee(self.pool, prepared, plugin, artifact, self.target, seconds=seconds, simulated=self.simulated)

    def verify(self, prepared: Prepared, artifact: Artifact, examinee: Examinee | None = None) -> Verdict:
        """The judge's verdict, on the `examinee` where the kernel is being loaded already; writes verdict.json."""
        with self.progress.stage("verify") as note:
            found = examine(examinee or self.examinee(prepared, artifact))
            self.verdict = found
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
        machine, found = floor.machine(self.pool, where), self._found()
        ground = Ground(self.pool, self.request, task, designs, machine, found.traits.units)
        software = versions(self.request.plugin)
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

    def following(self, candidates: Sequence[Candidate]) -> Candidate | None:
        """The one to judge next, after those that were refused; None when there is none, or enough were tried.

        It is the first of another design, then of the same: what is wrong with one schedule is mostly wrong with all.
        So it is with designs that round factors, where that is never exact enough.
        """
        tried = [(candidate.design, candidate.schedule) for candidate, _ in self.refused]
        designs = [design for design, _ in tried]
        coarse = {each.design.sketch.rounds for each, why in self.refused if _is_never_right(why)} - {""}
        waiting = [candidate for candidate in candidates if (candidate.design, candidate.schedule) not in tried]

        def doubts(candidate: Candidate) -> tuple[bool, bool]:
            return candidate.design in designs, candidate.design.sketch.rounds in coarse

        return min(waiting, key=doubts, default=None) if len(tried) < ATTEMPTS else None

    def accept(
        self,
        prepared: Prepared,
        candidates: Sequence[Candidate],
        built: Artifact | None = None,
        tries: int = ATTEMPTS,
        examinee: Examinee | None = None,
    ) -> tuple[Candidate, Artifact]:
        """The first of `candidates` that is judged correct, and its kernel; `built` is that of the `following` one.

        `examinee` is what is built, being loaded. So many are tried at most; without a correct one it is the
        last of them. Raises ValueError when none is left.
        """
        if self.following(candidates) is None:
            raise ValueError("none of the candidates is left to be judged")
        while tries and (following := self.following(candidates)):
            candidate, tries = following, tries - 1
            artifact, built = built or self.made(prepared.task, candidate), None
            found, examinee = self.verify(prepared, artifact, examinee), None
            if found.status not in REFUSALS:
                break
            self.refused += ((candidate, found),)
        if said := self.refusals(candidate):
            self.verdict = found.model_copy(update={"notes": (*found.notes, *said)})
            self.folder.write("verdict.json", self.verdict)
        return candidate, artifact

    def refusals(self, judged: Candidate) -> tuple[str, ...]:
        """What was refused before the one that was judged last, and why."""
        return tuple(
            f"The variant {each.design.sketch.name} was refused: {why.reason}"
            for each, why in self.refused
            if each is not judged
        )

    def time(self, prepared: Prepared, artifact: Artifact, baselines: Baselines | None, seconds: float = 2.0) -> Timing:
        """The kernel and its baselines in turns, for about `seconds`; writes timing.json."""
        self.require_clock()
        with self.progress.stage("time") as note:
            plugin = self.request.plugin
            found = measure(self.pool, prepared, plugin, artifact, self.target, baselines, seconds=seconds)
            self.timing = found
            self.folder.write("timing.json", found)
            note.failed = found.status != "ok"
            note.text = found.reason or ", ".join(f"{s.ratio:.2f}x of {s.over}" for s in found.speedups)
        return found

    def judge(
        self,
        prepared: Prepared,
        candidates: Sequence[Candidate],
        baselines: Baselines,
        built: Artifact | None = None,
    ) -> None:
        """Verify, candidate by candidate, and time what is correct."""
        _, artifact = self.accept(prepared, candidates, built)
        if self.verdict and self.verdict.correct and self.simulated:
            self.progress.skip("time", "a simulated kernel has no time")
        elif self.verdict and self.verdict.correct:
            self.time(prepared, artifact, baselines)
        else:
            self.progress.skip("time", "only a correct kernel is timed")

    def result(self, failure: Failure | None = None) -> RunResult:
        """What is known now."""
        return RunResult(
            task=self.task.name if self.task else self.request.reference.stem,
            plugin=self.request.plugin,
            target=str(self.target),
            stages=self.progress.stages,
            verdict=self.verdict,
            timing=self.timing,
            tuned=self.tuned,
            kernels=by_kernel(self.details),
            error=failure,
            notes=(*(self.task.notes if self.task else ()), *self.notes),
            folder=str(self.folder.path),
            versions=versions(self.request.plugin),
        )


def _explain(advice: tuple[Advice, ...], source: KernelSource, sketch: Sketch) -> str:
    """The first message of the compiler, on its line of the generated code, beside the line of the sketch."""
    if not advice:
        return "."
    first = advice[0]
    text = f": {first.problem.rstrip('.')}."
    name = next((n for n in source.files if f"{n}:{first.source_line}" in source.line_map), "")
    if name:
        text += f" {name}:{first.source_line} is `{_line(source.files[name], first.source_line)}`"
        line = first.sketch_line or source.line_map[f"{name}:{first.source_line}"]
        text += f", from line {line} of the sketch, `{_line(sketch.text, line)}`."
    return f"{text} {first.advice}".rstrip()


def _line(text: str, number: int) -> str:
    lines = text.splitlines()
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def count_of(number: int, noun: str) -> str:
    """ "1 kernel", "2 kernels"."""
    return f"{number} {noun}{'s' * (number != 1)}"


def _spell_arguments(task: Task) -> str:
    parts = [
        f"{argument.dtype}[{', '.join(map(str, argument.shape))}]" if argument.kind == "tensor" else argument.kind
        for argument in task.interface.arguments
    ]
    return ", ".join(parts) or "no arguments"


def versions(plugin: str) -> dict[str, str]:
    """The software that decides a plugin's results, by distribution."""
    found = {"python": platform.python_version(), "akg-core": akg_core.__version__}
    for entry in importlib.metadata.entry_points(group="akg", name=plugin):
        if entry.dist and entry.dist.name:
            found[entry.dist.name] = entry.dist.version
    found["torch"] = importlib.metadata.version("torch")
    return found


def _is_never_right(verdict: Verdict) -> bool:
    """Whether a kernel is wrong in every case."""
    return verdict.status == "incorrect" and not any(case.ok for case in verdict.cases)
