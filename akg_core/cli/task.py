"""`akg-core task check`: examine a task before anything is spent on it."""

from __future__ import annotations

from typing import Annotated

import typer

from akg_core.cli.options import Evaluation, Json, Reference, Scale
from akg_core.errors import TaskError

app = typer.Typer(help="Examine a reference before work is spent on it.", no_args_is_help=True)
EXAMINE_SECONDS = 600.0


@app.callback()
def task() -> None:
    """Examine a reference before work is spent on it."""


@app.command("check")
def check(
    reference: Reference,
    evaluation: Evaluation = False,
    scale: Scale = 1.0,
    strict: Annotated[bool, typer.Option("--strict", help="End with exit code 1 when the task is weak.")] = False,
    as_json: Json = False,
) -> None:
    """Name the weaknesses of a task.

    Outputs that are constant, random, stateful, zero within the tolerance, or do not depend on inputs or weights.
    """
    from akg_core.report.task import show_examination
    from akg_core.worker.limits import Limits
    from akg_core.worker.pool import Pool

    payload = {"path": str(reference.resolve()), "name": str(reference), "eval": evaluation, "scale": scale}
    with Pool() as pool:
        result = pool.call("akg_core.task.examine:examine_job", payload, limits=Limits(seconds=EXAMINE_SECONDS))
    if result.status not in ("ok", "error"):
        raise TaskError(f"{reference} could not be examined. {result.reason}", "Try smaller sizes: --scale 0.25.")
    if show_examination(str(reference), result.unwrap(), as_json) and strict:
        raise typer.Exit(1)
