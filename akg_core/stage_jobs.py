"""The stages between a task and a built kernel, as worker jobs: JSON in, JSON out.

Each job imports what it needs itself; the orchestrating process runs none of this.
"""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import Any

from akg_core.errors import SketchError
from akg_core.records import Advice, Availability, Finding, KernelSource, Schedule, Sketch, Target, Task, Traits
from akg_core.registry import hooks


def probe_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{plugin, target} → Availability; of a toolchain in an environment of its own the details have the version."""
    caller = hooks(payload["plugin"])
    found: Availability = caller.akg_probe(target=Target(**payload["target"]))
    info = caller.plugin.info
    if info and info.environment:
        version = importlib.metadata.version(info.environment.toolchain)
        found = found.model_copy(update={"details": {info.environment.toolchain: version} | found.details})
    return found.model_dump(mode="json")


def design_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{task, plugin, target, traits, number, sketch?: {name, text}} → {sketches: [{sketch, space, default}], of}.

    `number`: which of the designer's policies, of which there are so many, the best guess first; a plugin may have
    several views of the sketch that one leads to, and none of another. A sketch given by hand is checked against the
    task and refined like a designed one. Without a plugin nothing is refined.
    """
    from akg_core.design import policies, variant

    task = Task(**payload["task"])
    target = Target(**payload["target"]) if payload.get("target") else None
    caller = hooks(payload["plugin"]) if payload.get("plugin") else None
    given, traits = payload.get("sketch"), Traits(**payload["traits"])
    choices = policies(traits)
    sketches = (_given(given, task) if given else variant(task, traits, choices[payload["number"]]),)
    if caller and caller.has("akg_refine_sketch"):
        views = caller.akg_refine_sketch(sketch=sketches[0], target=target)
        sketches = tuple({view.text: view for view in views}.values())
    return {
        "sketches": [_described(sketch, traits.program_bytes) for sketch in sketches],
        "of": 1 if given else len(choices),
    }


def work_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{sketch, schedules} → {work: [[Work]]}: for each schedule, what each launch does."""
    from akg_core.lower.resources.work import work
    from akg_core.sketch.check import require
    from akg_core.sketch.parse import parse

    sketch = Sketch(**payload["sketch"])
    tree = require(parse(sketch.text, sketch.name), sketch.name)
    schedules = [Schedule(**values) for values in payload["schedules"]]
    return {"work": [[each.model_dump() for each in work(tree, schedule)] for schedule in schedules]}


def held_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{sketch, schedules} → {held}: for each schedule, the most bytes of tiles that a program holds at once."""
    from akg_core.lower.resources.fitting import Holding
    from akg_core.sketch.check import require
    from akg_core.sketch.parse import parse

    sketch = Sketch(**payload["sketch"])
    holding = Holding(require(parse(sketch.text, sketch.name), sketch.name))
    return {"held": [holding.most(Schedule(**values)) for values in payload["schedules"]]}


def steps_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{sketch, schedule} → {steps}: how much it is to run a sketch by simulation; see `lower.interpretation_steps`."""
    from akg_core.lower.interpretation_steps import steps
    from akg_core.sketch.check import require
    from akg_core.sketch.parse import parse

    sketch = Sketch(**payload["sketch"])
    tree = require(parse(sketch.text, sketch.name), sketch.name)
    return {"steps": steps(tree, Schedule(**payload["schedule"]))}


def emit_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{plugin, target, sketch, schedule} → {source, findings}."""
    caller, target = hooks(payload["plugin"]), Target(**payload["target"])
    sketch, schedule = Sketch(**payload["sketch"]), Schedule(**payload["schedule"])
    source = caller.akg_emit(sketch=sketch, schedule=schedule, target=target)
    findings = caller.akg_check_source(source=source, target=target) if caller.has("akg_check_source") else ()
    return {"source": source.model_dump(mode="json"), "findings": [finding.model_dump() for finding in findings]}


def check_then_compile_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{plugin, target, source, folder} → {findings}, and what compile_job gives where none of these is an error."""
    caller, source, findings = hooks(payload["plugin"]), KernelSource(**payload["source"]), tuple[Finding, ...]()
    if caller.has("akg_check_source"):
        findings = caller.akg_check_source(source=source, target=Target(**payload["target"]))
    built = {} if any(found.severity == "error" for found in findings) else compile_job(payload)
    return {"findings": [finding.model_dump() for finding in findings], **built}


def compile_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{plugin, target, source, folder} → {compiled: CompileResult, advice: [Advice]}."""
    caller, target = hooks(payload["plugin"]), Target(**payload["target"])
    source = KernelSource(**payload["source"])
    compiled = caller.akg_compile(source=source, target=target, workdir=Path(payload["folder"]))
    said = [] if compiled.ok else explain_job({**payload, "log": compiled.log})["advice"]
    return {"compiled": compiled.model_dump(mode="json"), "advice": said}


def explain_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{plugin, target, log} → {advice: [Advice]}, of what a compiler or the runtime said."""
    caller, advice = hooks(payload["plugin"]), tuple[Advice, ...]()
    if caller.has("akg_explain"):
        advice = caller.akg_explain(log=payload["log"], target=Target(**payload["target"]))
    return {"advice": [piece.model_dump() for piece in advice]}


def compile_all_job(payload: dict[str, Any]) -> dict[str, Any]:
    """{plugin, target, builds: [{source, folder}]} → {compiled: [CompileResult]}."""
    sources = tuple(KernelSource(**build["source"]) for build in payload["builds"])
    folders = tuple(Path(build["folder"]) for build in payload["builds"])
    compiled = hooks(payload["plugin"]).akg_compile_all(
        sources=sources, target=Target(**payload["target"]), workdirs=folders
    )
    return {"compiled": [result.model_dump(mode="json") for result in compiled]}


def _given(given: dict[str, str], task: Task) -> Sketch:
    from akg_core.sketch.check.interface import require_fit
    from akg_core.sketch.parse import parse

    tree = parse(given["text"], given["name"])
    try:
        require_fit(tree, task)
    except SketchError as error:
        at = f"{given['name']}:" if error.message[0].isdigit() else f"{given['name']}: "
        raise SketchError(f"{at}{error.message}", error.cure) from None
    return Sketch(name=task.name, text=given["text"], interface=task.interface, origin=given["name"])


def _described(sketch: Sketch, room: int) -> dict[str, Any]:
    """The sketch, checked, with what is left to tuning; a designed one's default keeps within `room` bytes."""
    from akg_core.lower.resources.fitting import fitting
    from akg_core.sketch.check import sound
    from akg_core.sketch.parse import parse
    from akg_core.sketch.schedule import default, space

    try:
        checked = sound(parse(sketch.text, sketch.origin), sketch.origin)
    except SketchError as error:
        if sketch.origin == "builtin":
            raise SketchError(
                f"The designer made a sketch with a fault: {error.message}", error.cure, error.findings
            ) from None
        raise
    choices, schedule = space(checked.tree), default(checked.tree)
    if room and sketch.origin == "builtin":
        schedule = fitting(checked.tree, choices, schedule, room)
    return {
        "sketch": sketch.model_dump(mode="json"),
        "space": [choice.model_dump(mode="json") for choice in choices],
        "default": schedule.model_dump(mode="json"),
    }
