"""The model-driven engine: attempts side by side, and the best kernel that the judge accepts.

    run(request, folder, watch, agenda)      make(pipeline, agenda), for whoever has a pipeline

A run that was ended goes on where it stopped when its folder is given again: answers are on its tape, and what was
judged is known.
"""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from akg_core.agents.attempt import Attempt, Desk, Kernel
from akg_core.agents.budget import Budget, BudgetSpent, Limits
from akg_core.agents.client import Client
from akg_core.agents.knowledge import RECALLED, Knowledge, Origin, gather
from akg_core.agents.library import KernelEntry, Library
from akg_core.agents.prices import dollars
from akg_core.agents.prompts import coder, designer
from akg_core.agents.records import Tally, Usage
from akg_core.agents.replay_cache import ReplayCache
from akg_core.agents.settings import Settings
from akg_core.agents.similarity import described
from akg_core.agents.stopwatch import Stopwatch
from akg_core.agents.trace import Trace
from akg_core.agents.verifier import Verifier
from akg_core.errors import AkgError, KernelFailed
from akg_core.judge.reference.prepare import Prepared
from akg_core.judge.timing.measure import Baselines
from akg_core.pipeline.jobs import conduct
from akg_core.pipeline.pipeline import Pipeline
from akg_core.pipeline.results import RunResult
from akg_core.records import KernelSource, Task
from akg_core.runs import RunFolder
from akg_core.stages import stages
from akg_core.stages.progress import Stage
from akg_core.stages.stages import Request

T = TypeVar("T")
Part = Literal["sketch", "docs", "examples", "conductor"]
PARTS: tuple[Part, ...] = ("sketch", "docs", "examples", "conductor")
ANSWERS, ATTEMPTS, TALLY = "answers", "attempts", "agents.json"  # in a run's folder


@dataclass(frozen=True)
class Agenda:
    """How a run is done. `hybrid`: the builtin engine's kernel is where attempts start, and what they must beat.

    `without`: parts of the engine to leave out. `replay`: a run whose answers are used, and no others. `memory`:
    whether verified kernels of other runs are looked at, and this run's is kept. `origin`: a kernel in another
    language that is carried over. `seconds`: of samples of the kernel that is kept. `tasks`: how many are done so;
    `shared`: the budget that they share.
    """

    settings: Settings
    attempts: int = 1
    limits: Limits = field(default_factory=Limits)
    hybrid: bool = False
    without: frozenset[Part] = frozenset()
    replay: Path | None = None
    memory: bool = True
    origin: Origin | None = None
    seconds: float = 2.0
    tasks: int = 1
    shared: Budget | None = None


def run(request: Request, folder: RunFolder, watch: Callable[[Stage], None], agenda: Agenda) -> RunResult:
    """Make a kernel by agents. Never raises for what goes wrong with models or kernels: it is in the result."""
    return conduct(request, folder, watch, partial(make, agenda=agenda))


def make(pipeline: Pipeline, agenda: Agenda) -> None:
    """Carry a pipeline through: capture, attempts, then the best once more by the judge and the clock.

    Raises AkgError for what ends it early.
    """
    threading.Thread(target=importlib.import_module, args=("openai",), daemon=True).start()  # it takes a second
    if not agenda.replay:
        (pipeline.folder.path / ANSWERS).mkdir(exist_ok=True)  # by which a run that may go on is known
    task = pipeline.capture()
    pipeline.require_toolchain()
    budget = Budget(agenda.limits, lambda text: pipeline.progress.skip("budget", text), agenda.shared)
    folder = pipeline.folder
    earlier = agenda.replay or folder.path
    with contextlib.ExitStack() as opened:
        tape = ReplayCache(earlier / ANSWERS, only=agenda.replay is not None)
        client = opened.enter_context(Client(agenda.settings, budget, tape))
        known = gather(
            task,
            pipeline,
            client,
            earlier / RECALLED,
            documents="docs" not in agenda.without,
            examples="examples" not in agenda.without,
            memory=agenda.memory,
            origin=agenda.origin,
        )
        with pipeline.progress.stage("estimate") as note:
            note.text = _spell_estimate(*estimate(task, known, agenda.settings), agenda)
        prepared = opened.enter_context(pipeline.reference(task))
        baselines = None
        if not pipeline.simulated:
            baselines = opened.enter_context(Baselines(pipeline.pool, prepared, ("eager",)))
        past = agenda.replay / ATTEMPTS if agenda.replay else None
        verifier = Verifier(pipeline, prepared, baselines, folder.path / ATTEMPTS, past)
        desk = Desk(
            task=task,
            client=client,
            verifier=verifier,
            known=known,
            trace=Trace(folder.path),
            sketches="sketch" not in agenda.without,
            conducted="conductor" not in agenda.without,
        )
        if desk.sketches:
            verifier.smaller()
        base = _builtin(pipeline, task, verifier) if agenda.hybrid else None
        attempts = [Attempt(number, desk, base) for number in range(agenda.attempts)]
        try:
            _carry_out(attempts, pipeline, desk, agenda.settings.together)
        finally:
            folder.write(TALLY, _tally(attempts, budget))
        _finish(pipeline, prepared, attempts, desk, agenda)


def estimate(task: Task, known: Knowledge, settings: Settings) -> tuple[int, float | None]:
    """About how many tokens, and dollars where the price is known, one attempt takes: a few prompts and answers."""
    design = designer(task, known).tokens
    code = coder(task, known, "code", "").tokens
    asked = Usage(read=design + 4 * code, written=5 * 2000)
    return asked.total, dollars(settings.model_for("code"), asked, settings.prices)


def _spell_estimate(tokens: int, dollars: float | None, agenda: Agenda) -> str:
    """The estimate of one attempt, and of all attempts at all tasks, as if every task were like this one."""
    cost = f", ${dollars:.2f}" if dollars is not None else ", at a price that is not known"
    said, attempts = f"about {tokens:,} tokens{cost} an attempt", agenda.attempts * agenda.tasks
    if attempts > 1:
        whole = f", ${attempts * dollars:.2f}" if dollars is not None else ""
        said += f"; {attempts * tokens:,} tokens{whole} for all {attempts}"
    return said


def _builtin(pipeline: Pipeline, task: Task, verifier: Verifier) -> Kernel | None:
    """The builtin engine's first kernel, if it is correct."""
    with pipeline.progress.stage("builtin") as note:
        try:
            design = stages.design(pipeline.pool, pipeline.request, task, pipeline.available.traits).designs[0]
            source, _ = stages.emit(pipeline.pool, pipeline.request, design, design.default)
            judged = verifier.kernel(source.files, Stopwatch())
        except AkgError as error:
            note.text = str(error)
            return None
        note.text = judged.feedback or judged.outcome
        return Kernel(source.files, design.sketch.text, judged) if judged.outcome == "correct" else None


def _carry_out(attempts: Sequence[Attempt], pipeline: Pipeline, desk: Desk, together: int) -> None:
    """All attempts, side by side, each a stage. What ended some early is noted, or raised when none found anything."""
    budget = desk.client.budget
    errors: list[AkgError] = []

    def go(attempt: Attempt) -> None:
        with pipeline.progress.stage(f"attempt {attempt.number + 1}") as note:
            attempt.tell = lambda: setattr(note, "text", _spell_attempt(attempt, budget))
            try:
                attempt.go()
            except AkgError as error:
                attempt.end = str(error)
                desk.trace.add(attempt.number, ended=attempt.end)
                errors.append(error)
                note.text = f"{_spell_attempt(attempt, budget)} · ended early"
            else:
                note.text = f"{_spell_attempt(attempt, budget)} · {attempt.end}"
            note.failed = attempt.best is None

    _side_by_side(go, attempts, together)
    told = None
    if errors and not any(attempt.best for attempt in attempts):
        told = next((error for error in errors if not isinstance(error, BudgetSpent)), errors[0])
    pipeline.notes += tuple(said for said in dict.fromkeys(map(str, errors)) if said != str(told))
    if told:
        raise told


def _side_by_side(work: Callable[[T], None], items: Sequence[T], together: int) -> None:
    """Do `work` on all items, so many at once. An interrupt waits for none: their threads end with the process."""
    waiting, failed = iter(items), list[BaseException]()

    def work_off() -> None:
        try:
            for item in waiting:
                work(item)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work_off, daemon=True) for _ in range(min(together, len(items)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]


def _spell_attempt(attempt: Attempt, budget: Budget) -> str:
    """Who is acting, the step, what all attempts have cost, and the best so far."""
    parts = [attempt.doing, f"step {len(attempt.steps)}", f"{budget.usage.total:,} tokens"]
    parts += [f"${budget.dollars:.3f}"] if budget.dollars else []
    if attempt.best:
        speedup = attempt.best.judged.speedup
        parts.append(f"best {speedup:.2f}x of eager" if speedup else "correct")
    return " · ".join(filter(None, parts))


def _finish(pipeline: Pipeline, prepared: Prepared, attempts: Sequence[Attempt], desk: Desk, agenda: Agenda) -> None:
    """Put the best kernel into the run's folder, and judge and time it there for the record."""
    found = [attempt.best for attempt in attempts if attempt.best]
    if not found:
        raise KernelFailed(
            f"No attempt ended with a correct kernel. {attempts[0].end}",
            f"`akg-core trace {pipeline.folder.path}` shows what was tried.",
        )
    best = min(found, key=lambda kernel: kernel.seconds)
    source = KernelSource(plugin=pipeline.request.plugin, target=pipeline.target, files=dict(best.files))
    if best.sketch:
        pipeline.folder.write("sketch.py", best.sketch)
    pipeline.folder.write_source(source, prepared.task.source)
    compiled, _ = stages.build(pipeline.pool, pipeline.request, source, pipeline.folder.kernel)
    if compiled.artifact is None:
        raise KernelFailed("The kernel that was judged correct does not compile again.", "Please report it.")
    pipeline.describe(compiled.details)
    verdict = pipeline.verify(prepared, compiled.artifact)
    if not verdict.correct:
        return
    if pipeline.simulated:
        pipeline.progress.skip("time", "a simulated kernel has no time")
    else:
        with pipeline.baselines(prepared) as baselines:
            pipeline.time(prepared, compiled.artifact, baselines, agenda.seconds)
    if agenda.memory:
        _remember(pipeline, prepared.task, best, desk.known.library)


def _remember(pipeline: Pipeline, task: Task, best: Kernel, library: Library) -> None:
    """Keep a verified kernel for later runs."""
    speedups = pipeline.timing.speedups if pipeline.timing else ()
    library.file_kernel(
        KernelEntry(
            name=task.name,
            plugin=pipeline.request.plugin,
            target=str(pipeline.target),
            sketch=best.sketch,
            files=dict(best.files),
            seconds=pipeline.timing.median("kernel") if pipeline.timing else None,
            speedup=next((each.ratio for each in speedups if each.over == "eager"), None),
            what=described(task),
        )
    )


def _tally(attempts: Sequence[Attempt], budget: Budget) -> Tally:
    return Tally(
        attempts=len(attempts),
        correct=sum(attempt.best is not None for attempt in attempts),
        steps=sum(len(attempt.steps) for attempt in attempts),
        answers=budget.answers,
        tokens=budget.usage.total,
        dollars=round(budget.dollars, 6),
        ends=tuple(attempt.end for attempt in attempts),
    )
