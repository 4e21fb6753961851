"""`akg-core task check`: examine a task before anything is spent on it."""

from __future__ import annotations

from typing import Annotated

import typer

from akg_core.cli.options import Dynamic, Evaluation, Json, Reference, Scale
from akg_core.errors import TaskError

app = typer.Typer(help="Examine a reference before work is spent on it.", no_args_is_help=True)
EXAMINE_SECONDS = 600.0


@app.callback()
def task() -> None:
    """Examine a reference before work is spent on it."""


@app.command("check")
def check(
    reference: Reference,
    dynamic: Dynamic = False,
    evaluation: Evaluation = False,
    scale: Scale = 1.0,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with exit code 1 when the task is weak, or has no kernel.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Name the weaknesses of a task, and the operators that have no rule.

    Outputs that are constant, random, stateful, zero within the tolerance, or do not depend on inputs or weights.
    """
    from akg_core.report.task import show_examination
    from akg_core.stages import stages
    from akg_core.task.examination import Examination
    from akg_core.worker.limits import Limits
    from akg_core.worker.pool import Pool

    payload = {"path": str(reference.resolve()), "name": str(reference), "eval": evaluation, "scale": scale}
    request = stages.Request(reference, "", None, dynamic=dynamic, evaluation=evaluation, scale=scale)
    with Pool() as pool:
        result = pool.call("akg_core.task.examine:examine_job", payload, limits=Limits(seconds=EXAMINE_SECONDS))
        if result.status not in ("ok", "error"):
            raise TaskError(f"{reference} could not be examined. {result.reason}", "Try smaller sizes: --scale 0.25.")
        examination = Examination(**result.unwrap())
        examination = examination.model_copy(update={"refused": stages.refusals(pool, request)})
    weak = show_examination(str(reference), examination, as_json)
    if strict and (weak or examination.refused):
        raise typer.Exit(1)
