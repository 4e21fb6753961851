"""`akg-core tune`: search the schedule space and keep the best verified kernel."""

from __future__ import annotations

from typing import Annotated

import typer

from akg_core.cli.options import (
    Dynamic,
    Evaluation,
    Json,
    NoBaseline,
    Out,
    PluginName,
    Reference,
    Scale,
    Seed,
    SketchPath,
    TargetText,
    make_request,
)


def tune(
    reference: Reference,
    plugin: PluginName = "",
    target: TargetText = "",
    sketch: SketchPath = None,
    seconds: Annotated[float, typer.Option("--seconds", metavar="S", help="How long to search.")] = 120.0,
    archive: Annotated[
        str, typer.Option("--archive", metavar="URL", help="Database or file (default: the cache).")
    ] = "",
    dynamic: Dynamic = False,
    evaluation: Evaluation = False,
    scale: Scale = 1.0,
    seed: Seed = 0,
    no_baseline: NoBaseline = False,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Search schedules and keep the best verified kernel.

    Every measurement is stored at once: a search that was ended, however, goes on where it stopped.
    """
    from akg_core.report.live import LiveStages
    from akg_core.report.run import console_for, show_run
    from akg_core.runs import RunFolder
    from akg_core.search.archive import default_url
    from akg_core.search.tune import tune as search

    request = make_request(
        reference,
        plugin,
        target,
        sketch=sketch,
        dynamic=dynamic,
        evaluation=evaluation,
        scale=scale,
        seed=seed,
        no_baseline=no_baseline,
    )
    folder = RunFolder(out) if out else RunFolder.fresh(f"{reference.stem}-tune")
    with LiveStages(console_for(as_json)) as live:
        result = search(request, folder, live, seconds=seconds, archive_url=archive or default_url())
    show_run(result, as_json)
    raise typer.Exit(result.exit_code)
