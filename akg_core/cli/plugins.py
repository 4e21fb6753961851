"""`akg-core plugins`: what is installed, its state, what works here, and why not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from akg_core.cli.options import Json

if TYPE_CHECKING:
    from akg_core.records import Availability


def plugins(as_json: Json = False) -> None:
    """List what is installed, its state, what works here, and why not."""
    from akg_core.registry import installed
    from akg_core.stages.pools import here

    found = installed().plugins()
    chips = {id(plugin): here(plugin) for plugin in found}
    if as_json:
        import dataclasses
        import json

        rows = [
            {
                **dataclasses.asdict(plugin),
                "info": plugin.info.model_dump(mode="json") if plugin.info else None,
                "here": {backend: chip.model_dump(mode="json") for backend, chip in chips[id(plugin)].items()},
            }
            for plugin in found
        ]
        print(json.dumps(rows, indent=2))
        return
    from rich.console import Console
    from rich.markup import escape

    from akg_core.report.table import plain_table

    console = Console(highlight=False)
    if not found:
        console.print("No plugin is installed. `pip install akg-plugin-…` adds one.")
        return
    table = plain_table("plugin", "state", "chips here", "installed by", "what it is")
    for plugin in found:
        info = plugin.info
        style = "green" if plugin.state == "loaded" else "red"
        table.add_row(
            f"[bold]{escape(plugin.name)}[/]",
            f"[{style}]{plugin.state}[/]",
            ", ".join(f"{backend} {_works(chip)}" for backend, chip in chips[id(plugin)].items()),
            f"{plugin.distribution} {plugin.version}",
            escape(info.summary or info.dsl) if info else "",
        )
    console.print(table)
    for plugin in found:
        if plugin.state != "loaded":
            console.print(
                f"[bold]{escape(plugin.name)}[/]: {escape(plugin.reason)} {escape(plugin.cure)}", soft_wrap=True
            )
        for backend, chip in chips[id(plugin)].items():
            if chip.reason:
                said = f"{backend}: {chip.reason} {chip.cure}".strip()
                console.print(f"[bold]{escape(plugin.name)}[/]: {escape(said)}", soft_wrap=True)


def _works(chip: Availability) -> str:
    """What a plugin can do on this machine for one of its chips, in a word."""
    if not chip.can_compile:
        return "(no compiler)"
    return "(simulated)" if chip.simulated else "" if chip.can_run else "(compiles only)"
