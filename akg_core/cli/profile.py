"""`akg-core profile`: time a kernel that exists against eager and torch.compile."""

from __future__ import annotations

import typer

from akg_core.cli.options import (
    Evaluation,
    Json,
    Kernel,
    NoBaseline,
    Out,
    PluginName,
    Reference,
    Scale,
    Seed,
    TargetText,
    existing_kernel,
    make_request,
)


def profile(
    reference: Reference,
    kernel: Kernel,
    plugin: PluginName = "",
    target: TargetText = "",
    evaluation: Evaluation = False,
    scale: Scale = 1.0,
    seed: Seed = 0,
    no_baseline: NoBaseline = False,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Time a kernel against eager and torch.compile.

    The samples are interleaved and kept in runs/<id>/. Whether the kernel is correct is for `verify` to say.
    """
    from akg_core.pipeline import profile as profile_kernel
    from akg_core.report.live import LiveStages
    from akg_core.report.run import console_for, show_run
    from akg_core.runs import RunFolder

    request = make_request(
        reference, plugin, target, evaluation=evaluation, scale=scale, seed=seed, no_baseline=no_baseline
    )
    artifact = existing_kernel(kernel)
    folder = RunFolder(out) if out else RunFolder.fresh(f"{reference.stem}-profile")
    with LiveStages(console_for(as_json)) as live:
        result = profile_kernel(request, artifact, folder, live)
    show_run(result, as_json)
    raise typer.Exit(result.exit_code)
