"""`akg-core conformance`: the suite of `akg_core.testing` on installed plugins."""

from __future__ import annotations

from typing import Annotated

import typer

from akg_core.cli.options import Json, TargetText

LEVELS = ("contract", "toolchain", "emission", "device")


def conformance(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Plugins (default: all).", show_default=False),
    ] = None,
    level: Annotated[str, typer.Option("--level", metavar="LEVEL", help=f"One of {', '.join(LEVELS)}.")] = LEVELS[-1],
    target: TargetText = "",
    only: Annotated[str, typer.Option("--only", metavar="WORDS", help="Tests by pytest's -k; no level counts.")] = "",
    as_json: Json = False,
) -> None:
    """Prove that plugins keep the contract.

    Levels: contract (any machine), toolchain (kernels are built), emission (they compute what sketches say), device
    (they are judged and timed, and cheats are caught).
    """
    from typing import cast

    from akg_core.cli.options import select_plugin, select_target
    from akg_core.errors import ToolchainError, UsageError
    from akg_core.registry import installed
    from akg_core.report.conformance import ConformanceReport

    if level not in LEVELS:
        raise UsageError(f"There is no level {level!r}.", f"There is {', '.join(LEVELS)}.")
    try:
        from akg_core.testing.levels import Level
        from akg_core.testing.runner import conform, unusable
    except ModuleNotFoundError as error:
        if error.name != "pytest":
            raise
        raise ToolchainError("The conformance suite needs pytest.", 'pip install "akg-core[testing]"') from None
    asked = cast(Level, level)
    chosen = [select_plugin(name) for name in names] if names else installed().plugins()
    with ConformanceReport(as_json) as report:
        for plugin in chosen:
            report.begin(plugin)
            if plugin.state != "loaded":
                report.end(unusable(plugin, asked))
                continue
            chip = str(select_target(target, plugin)) if target else ""
            report.end(conform(plugin.name, asked, report, target=chip, only=only))
    raise typer.Exit(0 if report.all_reach(level) else 1)
