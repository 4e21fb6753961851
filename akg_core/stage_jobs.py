"""The stages between a task and a built kernel, as worker jobs: a record in, a record out, between processes as JSON.

Each job imports what it needs itself; the orchestrating process runs none of this.
"""

from __future__ import annotations

import functools
import gc
import importlib.metadata
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from akg_core import built_from
from akg_core.errors import SketchError
from akg_core.record import Record
from akg_core.records import Advice, Availability, Finding, KernelSource, Sketch, Task
from akg_core.registry import hooks
from akg_core.stage_records import (
    Addressed,
    CompileAllInput,
    Compiled,
    CompiledAll,
    CompileInput,
    Design,
    Designed,
    DesignInput,
    EmitInput,
    Emitted,
    Explained,
    ExplainInput,
    GivenSketch,
    Held,
    Refusals,
    RefusalsInput,
    Scheduled,
    Steps,
)

if TYPE_CHECKING:
    from akg_core.lower.resources.work import Worked
    from akg_core.sketch.ast import SketchFile

Given = TypeVar("Given", bound=Record)


def job(given: type[Given]) -> Callable[[Callable[[Given], Record]], Callable[[dict[str, Any]], dict[str, Any]]]:
    """A function of a record as a job of the worker: JSON in, JSON out."""

    def of_json(run: Callable[[Given], Record]) -> Callable[[dict[str, Any]], dict[str, Any]]:
        @functools.wraps(run)
        def named(payload: dict[str, Any]) -> dict[str, Any]:
            return run(given(**payload)).model_dump(mode="json")

        return named

    return of_json


def uncollected(run: Callable[[Given], Record]) -> Callable[[Given], Record]:
    """A job that makes trees: these have no cycles, and the collector would look through all of them in vain."""

    @functools.wraps(run)
    def undisturbed(given: Given) -> Record:
        collecting = gc.isenabled()
        gc.disable()
        try:
            return run(given)
        finally:
            if collecting:
                gc.enable()

    return undisturbed


@job(Addressed)
def probe_job(given: Addressed) -> Availability:
    """What the plugin finds; of a toolchain in an environment of its own the details have the version."""
    caller = hooks(given.plugin)
    found: Availability = caller.akg_probe(target=given.target)
    info = caller.plugin.info
    if info and info.environment:
        version = importlib.metadata.version(info.environment.toolchain)
        found = found.model_copy(update={"details": {info.environment.toolchain: version} | found.details})
    return found


@job(DesignInput)
@uncollected
def design_job(given: DesignInput) -> Designed:
    """Checked sketches: a plugin may have several views of the one that a policy leads to, and none of another.

    A sketch given by hand is checked against the task and refined like a designed one. Without a plugin nothing is
    refined.
    """
    from akg_core.design import policies, variant

    caller = hooks(given.plugin) if given.plugin else None
    choices = policies(given.traits)
    sketch = (
        variant(given.task, given.traits, choices[given.number])
        if given.sketch is None
        else _given(given.sketch, given.task)
    )
    sketches = (sketch,)
    if caller and caller.has("akg_refine_sketch"):
        views = caller.akg_refine_sketch(sketch=sketch, target=given.target)
        sketches = tuple({view.text: view for view in views}.values())
    designs = tuple(_described(sketch, given.traits.program_bytes) for sketch in sketches)
    return Designed(designs=designs, of=1 if given.sketch else len(choices))


@job(RefusalsInput)
def refusals_job(given: RefusalsInput) -> Refusals:
    """The operators of a task for which the designer has no rule."""
    from akg_core.design.graph.trace import refusals

    return Refusals(refused=tuple(refusals(given.task)))


@job(Scheduled)
def work_job(given: Scheduled) -> Worked:
    """What each launch does, for each schedule."""
    from akg_core.lower.resources.work import Worked, work

    tree = _tree(given.sketch)
    return Worked(work=tuple(tuple(work(tree, schedule)) for schedule in given.schedules))


@job(Scheduled)
def held_job(given: Scheduled) -> Held:
    """The most bytes of tiles that a program holds at once, for each schedule."""
    from akg_core.lower.resources.fitting import Holding

    return Held(bytes=tuple(map(Holding(_tree(given.sketch), given.sketch.symbols).most, given.schedules)))


@job(Scheduled)
def steps_job(given: Scheduled) -> Steps:
    """How much it is to run a sketch by simulation; see `lower.interpretation_steps`."""
    from akg_core.lower.interpretation_steps import steps

    tree = _tree(given.sketch)
    return Steps(steps=tuple(steps(tree, schedule) for schedule in given.schedules))


@job(EmitInput)
@uncollected
def emit_job(given: EmitInput) -> Emitted:
    """Source for a sketch under a schedule, and what the plugin finds forbidden in it."""
    source = hooks(given.plugin).akg_emit(sketch=given.sketch, schedule=given.schedule, target=given.target)
    return Emitted(source=source, findings=_findings(given, source))


@job(CompileInput)
def check_then_compile_job(given: CompileInput) -> Compiled:
    """What the plugin finds forbidden in a source, and what `compile_job` gives where none of it is an error."""
    findings = _findings(given, given.source)
    if any(found.severity == "error" for found in findings):
        return Compiled(findings=findings)
    return _compiled(given).model_copy(update={"findings": findings})


@job(CompileInput)
def compile_job(given: CompileInput) -> Compiled:
    """A build; of one that failed, also what the plugin advises."""
    return _compiled(given)


@job(CompileAllInput)
def compile_all_job(given: CompileAllInput) -> CompiledAll:
    """Builds, side by side."""
    folders = tuple(map(Path, given.folders))
    results = hooks(given.plugin).akg_compile_all(sources=given.sources, target=given.target, workdirs=folders)
    for source, folder, result in zip(given.sources, folders, results, strict=True):
        if result.ok:
            built_from.record(source, folder)
    return CompiledAll(results=results)


@job(ExplainInput)
def explain_job(given: ExplainInput) -> Explained:
    """What the plugin advises about what a compiler or the runtime said."""
    return Explained(advice=_advice(given, given.log))


def _findings(given: Addressed, source: KernelSource) -> tuple[Finding, ...]:
    caller = hooks(given.plugin)
    return caller.akg_check_source(source=source, target=given.target) if caller.has("akg_check_source") else ()


def _compiled(given: CompileInput) -> Compiled:
    result = hooks(given.plugin).akg_compile(source=given.source, target=given.target, workdir=Path(given.folder))
    if result.ok:
        built_from.record(given.source, Path(given.folder))
    return Compiled(compiled=result, advice=() if result.ok else _advice(given, result.log))


def _advice(given: Addressed, log: str) -> tuple[Advice, ...]:
    caller = hooks(given.plugin)
    return caller.akg_explain(log=log, target=given.target) if caller.has("akg_explain") else ()


def _tree(sketch: Sketch) -> SketchFile:
    """The checked tree of a sketch."""
    from akg_core.sketch.check import require
    from akg_core.sketch.parse import parse

    return require(parse(sketch.text, sketch.name), sketch.name)


def _given(given: GivenSketch, task: Task) -> Sketch:
    from akg_core.sketch.check.interface import require_fit
    from akg_core.sketch.parse import parse

    tree = parse(given.text, given.name)
    try:
        require_fit(tree, task)
    except SketchError as error:
        at = f"{given.name}:" if error.message[0].isdigit() else f"{given.name}: "
        raise SketchError(f"{at}{error.message}", error.cure) from None
    return Sketch(name=task.name, text=given.text, interface=task.interface, origin=given.name, symbols=task.symbols)


def _described(sketch: Sketch, room: int) -> Design:
    """The sketch, checked, with what is left to tuning; a designed one's default keeps within `room` bytes."""
    from akg_core.lower.resources.fitting import fitting
    from akg_core.sketch.check import sound
    from akg_core.sketch.parse import parse
    from akg_core.sketch.schedule import defaults, space

    try:
        checked = sound(parse(sketch.text, sketch.origin), sketch.origin)
    except SketchError as error:
        if sketch.origin == "builtin":
            raise SketchError(
                f"The designer made a sketch with a fault: {error.message}", error.cure, error.findings
            ) from None
        raise
    choices = space(checked.tree)
    schedule = defaults(choices)
    if room and sketch.origin == "builtin":
        schedule = fitting(checked.tree, schedule, room, sketch.symbols)
    return Design(sketch=sketch, space=tuple(choices), default=schedule)
