"""The main job: from a reference file to a verified, measured kernel, stage by stage.

Every stage runs in worker processes, tells its progress, and writes what it found into the run's folder at once. The
judge prepares its reference data, and the baseline of the timing warms up, while the kernel is designed and built.
"""

from __future__ import annotations

import importlib.metadata
import platform
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

import akg_core
from akg_core import stages
from akg_core.errors import AkgError, KernelFailed, ToolchainError
from akg_core.judge.baseline import MODES
from akg_core.judge.prepare import Prepared, prepare
from akg_core.judge.records import Timing, Verdict
from akg_core.judge.timing import Baselines, measure
from akg_core.judge.verify import verify as judge_kernel
from akg_core.progress import Progress, Stage
from akg_core.records import HOST, Advice, Artifact, Availability, KernelSource, Record, Schedule, Sketch, Target, Task
from akg_core.registry import forward_trace
from akg_core.runs import RunFolder
from akg_core.stages import Design, Request

if TYPE_CHECKING:
    from akg_core.worker.pool import Pool

WARM = (
    ("torch", "torch.export._trace", "akg_core.task.capture", "akg_core.judge.reference"),
    (
        "akg_core.stage_jobs:design_job",
        "akg_core.stage_jobs:emit_job",
        "akg_core.design.assemble",
        "akg_core.sketch.check",
        "akg_core.sketch.host",
    ),
    ("torch._inductor.compile_fx", "akg_core.judge.baseline"),
)
ATTEMPTS = 3  # variants that are tried when the judge refuses the first
REFUSALS = ("incorrect", "crashed", "timed out")  # verdicts on one variant that say nothing of another
SIMULATED_WORK = 1 << 18  # elements moved by one call, to which a task is made smaller where kernels are simulated
WHILE_BUILDING = 1.5  # seconds; about as long as designing and building take


class Failure(Record):
    """Why a run ended early: one sentence, what to do, and the exit code of the command line."""

    type: str
    message: str
    cure: str = ""
    exit_code: int = 2


class RunResult(Record):
    """What a run found; `result.json`. `error` is set when it ended before its last stage."""

    task: str
    plugin: str
    target: str
    stages: tuple[Stage, ...] = ()
    verdict: Verdict | None = None
    timing: Timing | None = None
    error: Failure | None = None
    notes: tuple[str, ...] = ()
    folder: str = ""
    versions: dict[str, str] = Field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """0 when everything asked for was reached and the kernel is right (or, unjudged, was timed)."""
        if self.error:
            return self.error.exit_code
        wrong = self.verdict is not None and not self.verdict.correct
        return 1 if wrong or (self.timing is not None and self.timing.status != "ok") else 0


class Pipeline:
    """The stages of one request, sharing a pool of workers, a progress and a folder."""

    def __init__(self, request: Request, pool: Pool, folder: RunFolder, progress: Progress) -> None:
        self.request, self.pool, self.folder, self.progress = request, pool, folder, progress
        self.task: Task | None = None
        self.verdict: Verdict | None = None
        self.timing: Timing | None = None
        self.target = request.target or Target(backend="")
        self._probe = pool.submit("akg_core.stage_jobs:probe_job", stages.addressed(request))

    def capture(self) -> Task:
        """The reference file as a Task; writes task.json and reference.py."""
        with self.progress.stage("capture") as note:
            self.task = task = stages.capture(self.pool, self.request, SIMULATED_WORK if self.simulated else 0)
            self.folder.write("task.json", task)
            self.folder.write("reference.py", task.source)
            note.text = f"{count_of(len(task.graph.nodes), 'operator')} on {_spell_arguments(task)}"
        return task

    def reference(self, task: Task, seconds: float = 4.0) -> Prepared:
        """The process that knows the answers, started; it works on further cases for about `seconds` meanwhile."""
        folder = Path(tempfile.mkdtemp(prefix="cases-", dir=self.pool.folder))
        plugin, seed = self.request.plugin, self.request.seed
        lends = self._found().device != HOST
        return prepare(
            self.pool, task, folder, plugin=plugin, target=self.target, lends=lends, seed=seed, seconds=seconds
        )

    def baselines(self, prepared: Prepared) -> Baselines:
        """Eager and (unless it is not wanted) torch.compile, warming up in the background."""
        return Baselines(self.pool, prepared, MODES if self.request.baseline else MODES[:1])

    @property
    def simulated(self) -> bool:
        """Whether kernels run by simulation on this machine."""
        return self._found().simulated

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
        return compiled.artifact

    def verify(self, prepared: Prepared, artifact: Artifact) -> Verdict:
        """The judge's verdict; writes verdict.json."""
        with self.progress.stage("verify") as note:
            found = judge_kernel(
                self.pool,
                prepared,
                self.request.plugin,
                artifact,
                self.target,
                seconds=self.request.time_limit,
                simulated=self.simulated,
            )
            self.verdict = found
            forward_trace(found.log)
            self.folder.write("verdict.json", found)
            passed = sum(case.ok for case in found.cases)
            note.text = f"{passed} cases{', by simulation' * self.simulated}" if found.correct else found.status
            note.failed = not found.correct
        return found

    def accept(self, prepared: Prepared, designs: tuple[Design, ...], built: Artifact) -> tuple[Design, Artifact]:
        """The first of `designs` that is judged correct, and its kernel; `built` is that of the first.

        A variant that is refused is followed by the next, a few at most; without a correct one it is the last tried.
        """
        refused: list[str] = []
        for number, design in enumerate(designs[:ATTEMPTS]):
            if number:
                built = self.compile(design, self.emit(prepared.task, design, design.default))
            found = self.verify(prepared, built)
            if found.status not in REFUSALS or number + 1 == len(designs[:ATTEMPTS]):
                break
            refused.append(f"The variant {design.sketch.name} was refused: {found.reason}")
        if refused:
            self.verdict = found.model_copy(update={"notes": (*found.notes, *refused)})
            self.folder.write("verdict.json", self.verdict)
        return design, built

    def time(self, prepared: Prepared, artifact: Artifact, baselines: Baselines) -> Timing:
        """Kernel, eager and torch.compile in turns; writes timing.json."""
        self.require_clock()
        with self.progress.stage("time") as note:
            found = measure(self.pool, prepared, self.request.plugin, artifact, self.target, baselines)
            self.timing = found
            self.folder.write("timing.json", found)
            note.failed = found.status != "ok"
            note.text = found.reason or ", ".join(f"{s.ratio:.2f}x of {s.over}" for s in found.speedups)
        return found

    def judge(self, prepared: Prepared, designs: tuple[Design, ...], built: Artifact, baselines: Baselines) -> None:
        """Verify, variant by variant, and time what is correct."""
        _, artifact = self.accept(prepared, designs, built)
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
            error=failure,
            notes=self.task.notes if self.task else (),
            folder=str(self.folder.path),
            versions=versions(),
        )


def run(request: Request, folder: RunFolder, watch: Callable[[Stage], None]) -> RunResult:
    """The main job: capture, design, emit, compile, verify, time. Never raises for what goes wrong with the kernel."""

    def work(pipeline: Pipeline) -> None:
        task = pipeline.capture()
        pipeline.require_toolchain()
        with pipeline.reference(task, WHILE_BUILDING) as prepared, pipeline.baselines(prepared) as baselines:
            first, *_ = designs = pipeline.design(task)
            artifact = pipeline.compile(first, pipeline.emit(task, first, first.default))
            pipeline.judge(prepared, designs, artifact, baselines)

    return conduct(request, folder, watch, work)


def verify(request: Request, artifact: Artifact, folder: RunFolder, watch: Callable[[Stage], None]) -> RunResult:
    """Judge a kernel that exists."""

    def work(pipeline: Pipeline) -> None:
        task = pipeline.capture()
        with pipeline.reference(task) as prepared:
            pipeline.verify(prepared, artifact)

    return conduct(request, folder, watch, work)


def profile(request: Request, artifact: Artifact, folder: RunFolder, watch: Callable[[Stage], None]) -> RunResult:
    """Time a kernel that exists, without judging it."""

    def work(pipeline: Pipeline) -> None:
        task = pipeline.capture()
        with pipeline.reference(task) as prepared, pipeline.baselines(prepared) as baselines:
            pipeline.time(prepared, artifact, baselines)

    return conduct(request, folder, watch, work)


def conduct(
    request: Request, folder: RunFolder, watch: Callable[[Stage], None], work: Callable[[Pipeline], None]
) -> RunResult:
    """Do `work` on a fresh pool; whatever ends it early becomes the result's error. Writes result.json in any case."""
    from akg_core.worker.pool import Pool

    with Pool(warm=WARM) as pool:
        pipeline = Pipeline(request, pool, folder, Progress(watch))
        failure: Failure | None = Failure(type="Interrupted", message="The run was interrupted.", exit_code=130)
        try:
            work(pipeline)
            failure = None
        except AkgError as error:
            kind, code = type(error).__name__, error.exit_code
            failure = Failure(type=kind, message=error.message, cure=error.cure, exit_code=code)
        except Exception as error:
            failure = Failure(type=type(error).__name__, message=str(error), exit_code=1)
            raise
        finally:
            result = pipeline.result(failure)
            folder.write("result.json", result)
    return result


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


def versions() -> dict[str, str]:
    """The software that decides a result, by distribution."""
    found = {"python": platform.python_version(), "akg-core": akg_core.__version__}
    for entry in importlib.metadata.entry_points(group="akg"):
        if entry.dist:
            found[entry.dist.name] = entry.dist.version
    found["torch"] = importlib.metadata.version("torch")
    return found
