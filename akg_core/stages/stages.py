"""One stage at a time, seen from the orchestrator: what a user asks for goes in, records come out.

The work itself is done by `akg_core.stages.stage_jobs` in worker processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from akg_core.errors import AkgError, KernelFailed, TaskError, ToolchainError, UsageError
from akg_core.records import (
    Advice,
    Artifact,
    Availability,
    CompileResult,
    Finding,
    KernelSource,
    Scalar,
    Schedule,
    Target,
    Task,
    Traits,
)
from akg_core.registry import hooks
from akg_core.stages.stage_jobs import (
    Compiled,
    Design,
    Designed,
    GivenSketch,
    check_then_compile_job,
    compile_all_job,
    compile_job,
    design_job,
    emit_job,
    explain_job,
    probe_job,
    refusals_job,
)
from akg_core.worker.limits import Limits
from akg_core.worker.usage import cores

if TYPE_CHECKING:
    from akg_core.lower.resources.work import Work
    from akg_core.worker.pool import Pool

CAPTURE_SECONDS = 120.0
INTERPRET_SECONDS = 600.0
DESIGN = Limits(seconds=120.0)
COMPILE = Limits(seconds=300.0)


@dataclass(frozen=True)
class Request:
    """What a user asks for: a reference file, for one plugin and chip, and how to read the file.

    `seed`: where the draws begin, None for new ones. `time_limit`: seconds that a kernel may take over all cases that
    it is judged by; 0 sets it by the reference's time.
    `repeatable`: kernels add floats in the same order in every call. `gives_way`: compiling gets what other work leaves
    of the processors.
    """

    reference: Path
    plugin: str
    target: Target | None
    sketch: Path | None = None
    dynamic: bool = False
    evaluation: bool = False
    scale: float = 1.0
    seed: int | None = None
    baseline: bool = True
    time_limit: float = 0.0
    gives_way: bool = False
    repeatable: bool = False


@dataclass(frozen=True)
class Candidate:
    """A design under a schedule: what may become the kernel of a run.

    `seconds`: what it took when a search timed it. `folder`: where it has been built, laid out like a run's folder.
    `artifact`, `details`, `spilled`: what the build gave. `instead_of`: the schedule that did not fit, in whose place
    this one is.
    """

    design: Design
    schedule: Schedule
    seconds: float | None = None
    folder: Path | None = None
    artifact: Artifact | None = None
    details: dict[str, Scalar] = field(default_factory=dict)
    spilled: dict[str, int] = field(default_factory=dict)
    instead_of: Schedule | None = None


def capture(pool: Pool, request: Request, work: int = 0, integers: bool = True) -> Task:
    """The reference file as a Task, made smaller to `work` where no scale says how much. Raises TaskError.

    Without `integers`, ints that forward takes are constants; so they are where the designer has no rule otherwise.
    """
    payload = {
        "path": str(request.reference.resolve()),
        "name": str(request.reference),
        "dynamic": request.dynamic,
        "eval": request.evaluation,
        "scale": request.scale,
        "work": work,
        "integers": integers,
    }
    result = pool.call("akg_core.task.capture:capture_job", payload, limits=Limits(seconds=CAPTURE_SECONDS))
    if result.status not in ("ok", "error"):
        raise TaskError(f"{request.reference} could not be captured. {result.reason}")
    task = Task(**result.unwrap()).model_copy(update={"repeatable": request.repeatable})
    if any(argument.kind == "size" for argument in task.interface.arguments) and not _has_rules(pool, task):
        return capture(pool, request, work, integers=False)
    return task


def _has_rules(pool: Pool, task: Task) -> bool:
    """Whether the designer has a rule for each operator of a task, as it is called there."""
    try:
        return not refusals_job.on(pool, DESIGN)(task)
    except AkgError:
        return False


def refusals(pool: Pool, request: Request) -> tuple[str, ...]:
    """Why no kernel can be designed for the reference: what capture refuses, or each operator without a rule."""
    try:
        task = capture(pool, request)
    except TaskError as error:
        return (str(error),)
    return refusals_job.on(pool, DESIGN)(task)


def probe(pool: Pool, request: Request) -> Availability:
    """What the plugin finds on this machine, where its toolchain is."""
    return probe_job.on(pool)(request.plugin, request.target)


def design(pool: Pool, request: Request, task: Task, traits: Traits, number: int = 0) -> Designed:
    """Checked sketches: the one given, or those that a variant of the designer's leads to, as the plugin refines it.

    `traits`: those of the chip, as the plugin found it.
    """
    by_hand = request.sketch
    sketch = GivenSketch(name=str(by_hand), text=by_hand.read_text(encoding="utf-8-sig")) if by_hand else None
    return design_job.on(pool, DESIGN)(request.plugin, request.target, task, traits, number, sketch)


def emit(pool: Pool, request: Request, design: Design, schedule: Schedule) -> tuple[KernelSource, tuple[Finding, ...]]:
    """Source for a sketch under a schedule, and what the plugin finds forbidden in it."""
    return emit_job.on(pool, DESIGN)(request.plugin, request.target, design.sketch, schedule)


def work(pool: Pool, design: Design, schedules: Sequence[Schedule]) -> tuple[tuple[Work, ...], ...]:
    """What each launch of a design does under each of some schedules."""
    from akg_core.stages.schedule_jobs import work_job

    return work_job.on(pool, DESIGN)(design.sketch, tuple(schedules))


def held(pool: Pool, design: Design, schedules: Sequence[Schedule], copies: int) -> tuple[int, ...]:
    """The most bytes of tiles that a program of a design holds at once under each of some schedules.

    `copies`: of what is loaded and stored, see `Traits`.
    """
    from akg_core.stages.schedule_jobs import held_job

    return held_job.on(pool, DESIGN)(design.sketch, tuple(schedules), copies)


def steps(pool: Pool, design: Design, schedule: Schedule, sizes: Sequence[dict[str, int]]) -> tuple[float, ...]:
    """How much it is to run a design under a schedule by simulation at each of some sizes, in operations on tiles."""
    from akg_core.stages.schedule_jobs import steps_job

    return steps_job.on(pool, DESIGN)(design.sketch, schedule, tuple(sizes))


def require_usable(found: Availability, plugin: str) -> Availability:
    """What a plugin found on this machine; raises ToolchainError when it cannot compile and run here."""
    if not (found.can_compile and found.can_run):
        raise ToolchainError(f"The plugin {plugin} cannot work here: {found.reason}", found.cure)
    return found


def require_allowed(findings: tuple[Finding, ...]) -> None:
    """Raise KernelFailed for the first finding that is an error."""
    for found in findings:
        if found.severity == "error":
            raise KernelFailed(f"The source is refused: {found.code} {found.message}", found.suggestion)


def explain(pool: Pool, request: Request, log: str) -> tuple[Advice, ...]:
    """What the plugin advises about what the runtime said."""
    return explain_job.on(pool, DESIGN)(request.plugin, request.target, log)


def trial(pool: Pool, task: Task, design: Design, seed: int | None) -> dict[str, Any]:
    """A sketch interpreted on the task's own inputs, beside the reference; see `trial_job` of its module."""
    payload = {
        "task": task.model_dump(mode="json"),
        "text": design.sketch.text,
        "name": design.sketch.origin,
        "schedule": design.default.model_dump(),
        "seed": seed or 0,
    }
    result = pool.call("akg_core.sketch.interpret.trial:trial_job", payload, limits=Limits(seconds=INTERPRET_SECONDS))
    if result.status not in ("ok", "error"):
        raise UsageError(f"The sketch could not be interpreted. {result.reason}", "Try smaller sizes: --scale 0.25.")
    return result.unwrap()


def build(pool: Pool, request: Request, source: KernelSource, folder: Path) -> tuple[CompileResult, tuple[Advice, ...]]:
    """Compile into `folder`; when that fails, the plugin's advice on the compiler's message."""
    built = compile_job.on(pool, _compiling(request))(request.plugin, request.target, source, folder)
    assert built.compiled is not None
    return built.compiled, built.advice


def check_then_build(pool: Pool, request: Request, source: KernelSource, folder: Path) -> Compiled:
    """What the plugin finds forbidden in a source by reading it; without an error, what `build` gives too."""
    return check_then_compile_job.on(pool, _compiling(request))(request.plugin, request.target, source, folder)


def build_all(pool: Pool, request: Request, builds: Sequence[tuple[KernelSource, Path]]) -> tuple[CompileResult, ...]:
    """Compile each source into its folder, side by side. What else goes wrong than compiling is a result, too."""
    if not builds:
        return ()
    if not hooks(request.plugin).has("akg_compile_all"):
        with ThreadPoolExecutor(max_workers=cores()) as builders:
            return tuple(builders.map(lambda each: _built(pool, request, *each), builds))
    sources, folders = zip(*builds, strict=True)
    try:
        return compile_all_job.on(pool, _compiling(request))(request.plugin, request.target, sources, folders)
    except AkgError as error:
        return tuple(CompileResult(ok=False, seconds=0.0, log=str(error)) for _ in builds)


def _built(pool: Pool, request: Request, source: KernelSource, folder: Path) -> CompileResult:
    try:
        return build(pool, request, source, folder)[0]
    except AkgError as error:
        return CompileResult(ok=False, seconds=0.0, log=str(error))


def _compiling(request: Request) -> Limits:
    return replace(COMPILE, gives_way=request.gives_way)
