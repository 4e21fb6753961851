"""The stages between a task and a built kernel, as worker jobs, and the records that these give.

Each job imports what it needs itself; the orchestrating process runs none of this. The empty plugin is none, and the
target None the chip that a plugin finds.
"""

from __future__ import annotations

import functools
import gc
import importlib.metadata
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from akg_core import built_from
from akg_core.errors import DesignerFailed, SketchError
from akg_core.record import Record
from akg_core.records import (
    Advice,
    Availability,
    Choice,
    CompileResult,
    Finding,
    KernelSource,
    Schedule,
    Sketch,
    Target,
    Task,
    Traits,
)
from akg_core.registry import hooks
from akg_core.worker.job import Job

P = ParamSpec("P")
R = TypeVar("R")


class Design(Record):
    """A checked sketch, what it leaves to tuning, and the schedule that it would use by itself."""

    sketch: Sketch
    space: tuple[Choice, ...]
    default: Schedule


class GivenSketch(Record):
    """A sketch by hand: its text, and the name to call it by."""

    name: str
    text: str


class Designed(Record):
    """What one variant of the designer's leads to, `of` so many."""

    designs: tuple[Design, ...]
    of: int


class Compiled(Record):
    """`findings` by reading the source, where that was asked for; `compiled` is None where one of them is an error."""

    findings: tuple[Finding, ...] = ()
    compiled: CompileResult | None = None
    advice: tuple[Advice, ...] = ()


def uncollected(run: Callable[P, R]) -> Callable[P, R]:
    """A job that makes trees: these have no cycles, and the collector would look through all of them in vain."""

    @functools.wraps(run)
    def undisturbed(*given: P.args, **named: P.kwargs) -> R:
        collecting = gc.isenabled()
        gc.disable()
        try:
            return run(*given, **named)
        finally:
            if collecting:
                gc.enable()

    return undisturbed


@Job
def probe_job(plugin: str, target: Target | None) -> Availability:
    """What the plugin finds; of a toolchain in an environment of its own the details have the version."""
    caller = hooks(plugin)
    found: Availability = caller.akg_probe(target=target)
    info = caller.plugin.info
    if info and info.environment:
        version = importlib.metadata.version(info.environment.toolchain)
        found = found.model_copy(update={"details": {info.environment.toolchain: version} | found.details})
    return found


@Job
@uncollected
def design_job(
    plugin: str, target: Target | None, task: Task, traits: Traits, number: int, sketch: GivenSketch | None
) -> Designed:
    """Checked sketches: a plugin may have several views of the one that a policy leads to, and none of another.

    `number`: which of the designer's policies, the best guess first. A `sketch` that is given by hand takes their
    place: it is checked against the task and refined like a designed one. Without a plugin nothing is refined.
    """
    from akg_core.design import policies, variant

    caller = hooks(plugin) if plugin else None
    choices = policies(traits)
    first = variant(task, traits, choices[number]) if sketch is None else _given(sketch, task)
    sketches: tuple[Sketch, ...] = (first,)
    if caller and caller.has("akg_refine_sketch"):
        views = caller.akg_refine_sketch(sketch=first, target=target)
        sketches = tuple({view.text: view for view in views}.values())
    designs = tuple(_described(each, traits) for each in sketches)
    return Designed(designs=designs, of=1 if sketch else len(choices))


@Job
def refusals_job(task: Task) -> tuple[str, ...]:
    """A sentence for each operator of a task for which the designer has no rule."""
    from akg_core.design.trace import refusals

    return tuple(refusals(task))


@Job
@uncollected
def emit_job(
    plugin: str, target: Target | None, sketch: Sketch, schedule: Schedule
) -> tuple[KernelSource, tuple[Finding, ...]]:
    """Source for a sketch under a schedule, and what the plugin finds forbidden in it."""
    source = hooks(plugin).akg_emit(sketch=sketch, schedule=schedule, target=target)
    return source, _findings(plugin, target, source)


@Job
def check_then_compile_job(plugin: str, target: Target | None, source: KernelSource, folder: Path) -> Compiled:
    """What the plugin finds forbidden in a source, and what `compile_job` gives where none of it is an error."""
    findings = _findings(plugin, target, source)
    if any(found.severity == "error" for found in findings):
        return Compiled(findings=findings)
    return compile_job.run(plugin, target, source, folder).model_copy(update={"findings": findings})


@Job
def compile_job(plugin: str, target: Target | None, source: KernelSource, folder: Path) -> Compiled:
    """A build in a folder, an absolute path; of one that failed, also what the plugin advises."""
    result = hooks(plugin).akg_compile(source=source, target=target, workdir=folder)
    if result.ok:
        built_from.record(source, folder)
    return Compiled(compiled=result, advice=() if result.ok else explain_job.run(plugin, target, result.log))


@Job
def compile_all_job(
    plugin: str, target: Target | None, sources: tuple[KernelSource, ...], folders: tuple[Path, ...]
) -> tuple[CompileResult, ...]:
    """Builds of sources, each in its folder, side by side."""
    results: tuple[CompileResult, ...] = hooks(plugin).akg_compile_all(sources=sources, target=target, workdirs=folders)
    for source, folder, result in zip(sources, folders, results, strict=True):
        if result.ok:
            built_from.record(source, folder)
    return results


@Job
def explain_job(plugin: str, target: Target | None, log: str) -> tuple[Advice, ...]:
    """What the plugin advises about what a compiler or the runtime said."""
    caller = hooks(plugin)
    return caller.akg_explain(log=log, target=target) if caller.has("akg_explain") else ()


def _findings(plugin: str, target: Target | None, source: KernelSource) -> tuple[Finding, ...]:
    caller = hooks(plugin)
    return caller.akg_check_source(source=source, target=target) if caller.has("akg_check_source") else ()


def _given(given: GivenSketch, task: Task) -> Sketch:
    from akg_core.sketch.check.interface import require_fit
    from akg_core.sketch.parse import parse

    tree = parse(given.text, given.name)
    try:
        require_fit(tree, task)
    except SketchError as error:
        at = f"{given.name}:" if error.message[0].isdigit() else f"{given.name}: "
        raise SketchError(f"{at}{error.message}", error.cure) from None
    return Sketch(
        name=task.name,
        text=given.text,
        interface=task.interface,
        origin=given.name,
        symbols=task.symbols,
        cases=task.cases,
    )


def _described(sketch: Sketch, traits: Traits) -> Design:
    """The sketch, checked, with what is left to tuning; a designed one's default keeps within what a program has."""
    from akg_core.lower.resources.fitting import fitting
    from akg_core.sketch.check import sound
    from akg_core.sketch.parse import parse
    from akg_core.sketch.schedule import defaults, space

    try:
        checked = sound(parse(sketch.text, sketch.origin), sketch.origin)
    except SketchError as error:
        if sketch.origin == "builtin":
            what = f"The designer made a sketch with a fault, which is none of yours: {error.message.rstrip('.')}."
            raise DesignerFailed(what, "Please report it with the reference file.", error.findings) from None
        raise
    choices = space(checked.tree)
    schedule = defaults(choices)
    if traits.program_bytes and sketch.origin == "builtin":
        schedule = fitting(checked.tree, schedule, traits.program_bytes, sketch.symbols, traits.copies)
    return Design(sketch=sketch, space=tuple(choices), default=schedule)
