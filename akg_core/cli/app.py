"""The commands of `akg-core`, put together."""

from __future__ import annotations

from typing import Annotated

import typer

import akg_core
from akg_core.cli import (
    bench,
    config,
    conformance,
    docs,
    doctor,
    export,
    migrate,
    new_plugin,
    plugins,
    profile,
    run,
    setup,
    sketch,
    task,
    trace,
    tune,
    verify,
)

app = typer.Typer(
    help="From a PyTorch operator to a verified, measured kernel, through plugins for any language and chip.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run.run)
app.command("sketch")(sketch.sketch)
app.command("verify")(verify.verify)
app.command("profile")(profile.profile)
app.command("tune")(tune.tune)
app.command("bench")(bench.bench)
app.command("export")(export.export)
app.add_typer(task.app, name="task")
app.command("plugins")(plugins.plugins)
app.command("setup")(setup.setup)
app.command("doctor")(doctor.doctor)
app.command("conformance")(conformance.conformance)
app.command("new-plugin")(new_plugin.new_plugin)
app.command("config")(config.config)
app.add_typer(docs.app, name="docs")
app.command("trace")(trace.trace)
app.command("migrate")(migrate.migrate)


@app.callback(invoke_without_command=True)
def about(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and end.")] = False,
) -> None:
    if version:
        print(f"akg-core {akg_core.__version__}")
        raise typer.Exit
