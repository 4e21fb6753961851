"""`akg-core run`: generate, compile, verify and time a kernel for a reference file."""

from __future__ import annotations

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


def run(
    reference: Reference,
    plugin: PluginName = "",
    target: TargetText = "",
    sketch: SketchPath = None,
    dynamic: Dynamic = False,
    evaluation: Evaluation = False,
    scale: Scale = 1.0,
    seed: Seed = 0,
    no_baseline: NoBaseline = False,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Generate, compile, verify and time a kernel.

    Prints the stages, the verdict and the medians; everything is kept in runs/<id>/.
    """
    from akg_core.pipeline import run as run_pipeline
    from akg_core.report.live import LiveStages
    from akg_core.report.run import console_for, show_run
    from akg_core.runs import RunFolder

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
    folder = RunFolder(out) if out else RunFolder.fresh(reference.stem)
    console = console_for(as_json)
    with LiveStages(console) as live:
        result = run_pipeline(request, folder, live)
    show_run(result, as_json)
    raise typer.Exit(result.exit_code)
