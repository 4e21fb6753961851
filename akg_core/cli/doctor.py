"""`akg-core doctor`: every plugin through every stage on a vector add."""

from __future__ import annotations

from typing import Annotated

import typer

from akg_core.cli.options import Json


def doctor(
    plugin: Annotated[str, typer.Option("--plugin", "-p", metavar="NAME", help="Only this plugin.")] = "",
    as_json: Json = False,
) -> None:
    """Try every plugin: PASS or the reason.

    Each goes through every stage on a vector add.
    """
    from akg_core.doctor import examine
    from akg_core.report.doctor import DoctorReport

    with DoctorReport(as_json) as report:
        healthy = examine(report, plugin)
    raise typer.Exit(0 if healthy else 1)
