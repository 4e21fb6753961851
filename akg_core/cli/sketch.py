"""`akg-core sketch`: show the sketch that the builtin designer makes, or check and run one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from akg_core.cli.options import Dynamic, Evaluation, Json, PluginName, Scale, Seed, SketchPath, TargetText, existing

if TYPE_CHECKING:
    from akg_core.records import Task
    from akg_core.stages import Design


def sketch(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A reference file, or a sketch.", show_default=False)],
    plugin: PluginName = "",
    target: TargetText = "",
    given: SketchPath = None,
    check: Annotated[bool, typer.Option("--check", help="Report what the checker finds instead of the text.")] = False,
    interpret: Annotated[bool, typer.Option("--interpret", help="Run it and compare with the reference.")] = False,
    variant: Annotated[int, typer.Option("--variant", metavar="N", help="The designer's N-th choice.")] = 0,
    dynamic: Dynamic = False,
    evaluation: Evaluation = False,
    scale: Scale = 1.0,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Show, check or interpret the sketch of a reference file.

    The builtin designer makes it; --sketch gives another. Where FILE is a sketch itself, it is shown or checked.
    """
    from akg_core.errors import UsageError
    from akg_core.report.sketch import show_findings, show_sketch, show_trial

    file = existing(file, "file")
    text = file.read_text(encoding="utf-8")
    if _is_sketch(text):
        if interpret:
            cure = f"Give the reference too: akg-core sketch REF --sketch {file.name} --interpret."
            raise UsageError("A sketch alone has no inputs to run on.", cure)
        show_findings(text, file.name, as_json) if check else show_sketch(text, as_json)
        return
    if given and check and not interpret:
        given = existing(given, "sketch")
        show_findings(given.read_text(encoding="utf-8"), given.name, as_json)
        return

    from akg_core.worker.pool import Pool

    with Pool() as pool:
        task, designs = _design(pool, file, plugin, target, given, dynamic, evaluation, scale)
        if not 0 <= variant < len(designs):
            raise UsageError(f"There is no variant {variant}.", f"The designer made {len(designs)}, counted from 0.")
        chosen = designs[variant]
        if interpret:
            show_trial(task, _interpret(pool, task, chosen, seed), as_json)
        elif check:
            show_findings(chosen.sketch.text, chosen.sketch.origin, as_json)
        else:
            show_sketch(chosen.sketch.text, as_json, len(designs))


def _design(
    pool: Any, file: Path, plugin: str, target: str, given: Path | None, dynamic: bool, evaluation: bool, scale: float
) -> tuple[Task, tuple[Design, ...]]:
    from akg_core.cli.options import select_plugin, select_target
    from akg_core.stages import Request, capture, design

    chosen = select_plugin(plugin) if plugin else None
    request = Request(
        reference=file,
        plugin=chosen.name if chosen else "",
        target=select_target(target, chosen) if chosen else None,
        sketch=existing(given, "sketch") if given else None,
        dynamic=dynamic,
        evaluation=evaluation,
        scale=scale,
    )
    task = capture(pool, request)
    return task, design(pool, request, task)


def _interpret(pool: Any, task: Task, design: Design, seed: int) -> dict[str, Any]:
    from akg_core.worker.limits import Limits

    payload = {
        "task": task.model_dump(mode="json"),
        "text": design.sketch.text,
        "name": design.sketch.origin,
        "schedule": design.default.model_dump(),
        "seed": seed,
    }
    return pool.call("akg_core.sketch.trial:trial_job", payload, limits=Limits(seconds=600)).unwrap()


def _is_sketch(text: str) -> bool:
    """Whether a file has @kernel or @program and no class, so that it is a sketch and no reference."""
    import re

    return bool(re.search(r"^@(kernel|program)\b", text, re.M)) and not re.search(r"^class\b", text, re.M)
