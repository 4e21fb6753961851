"""`akg-core verify`: judge a kernel that exists, generated or written by hand."""

from __future__ import annotations

import typer

from akg_core.cli.options import (
    Evaluation,
    Json,
    Kernel,
    Out,
    PluginName,
    Reference,
    Scale,
    Seed,
    TargetText,
    existing_kernel,
    make_request,
)


def verify(
    reference: Reference,
    kernel: Kernel,
    plugin: PluginName = "",
    target: TargetText = "",
    evaluation: Evaluation = False,
    scale: Scale = 1.0,
    seed: Seed = 0,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Judge a kernel that exists, a hand-written one too.

    What was found is kept in runs/<id>/.
    """
    from akg_core.pipeline import verify as verify_kernel
    from akg_core.report.live import LiveStages
    from akg_core.report.run import console_for, show_run
    from akg_core.runs import RunFolder

    request = make_request(reference, plugin, target, evaluation=evaluation, scale=scale, seed=seed)
    artifact = existing_kernel(kernel)
    folder = RunFolder(out) if out else RunFolder.fresh(f"{reference.stem}-verify")
    with LiveStages(console_for(as_json)) as live:
        result = verify_kernel(request, artifact, folder, live)
    show_run(result, as_json)
    raise typer.Exit(result.exit_code)
