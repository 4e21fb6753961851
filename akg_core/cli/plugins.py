"""`akg-core plugins`: what is installed, its state, and why not."""

from __future__ import annotations

from akg_core.cli.options import Json


def plugins(as_json: Json = False) -> None:
    """List what is installed, its state, and why not."""
    from akg_core.registry import installed

    found = installed().plugins()
    if as_json:
        import dataclasses
        import json

        rows = [{**dataclasses.asdict(p), "info": p.info.model_dump(mode="json") if p.info else None} for p in found]
        print(json.dumps(rows, indent=2))
        return
    from rich.console import Console
    from rich.markup import escape

    from akg_core.report.table import plain_table

    console = Console(highlight=False)
    if not found:
        console.print("No plugin is installed. `pip install akg-plugin-…` adds one.")
        return
    table = plain_table("plugin", "state", "chips", "installed by", "what it is")
    for plugin in found:
        info = plugin.info
        style = "green" if plugin.state == "loaded" else "red"
        table.add_row(
            f"[bold]{escape(plugin.name)}[/]",
            f"[{style}]{plugin.state}[/]",
            ", ".join(info.backends) if info else "",
            f"{plugin.distribution} {plugin.version}",
            escape(info.summary or info.dsl) if info else "",
        )
    console.print(table)
    for plugin in found:
        if plugin.state != "loaded":
            console.print(
                f"[bold]{escape(plugin.name)}[/]: {escape(plugin.reason)} {escape(plugin.cure)}", soft_wrap=True
            )
