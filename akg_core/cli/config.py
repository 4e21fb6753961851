"""`akg-core config`: what is set of a model's endpoint, and where from."""

from __future__ import annotations

from akg_core.cli.options import Json


def config(as_json: Json = False) -> None:
    """Show the settings of the model's endpoint and where each comes from; keys stay hidden."""
    import json

    from rich.console import Console
    from rich.markup import escape

    from akg_core.agents.settings import origins, read_settings, settings_file
    from akg_core.report.table import plain_table

    found, where = read_settings().model_dump(mode="json"), origins({})
    if as_json:
        values = {name: {"value": value, "from": where[name]} for name, value in found.items()}
        print(json.dumps({"file": str(settings_file()), "settings": values}, indent=2))
        return
    table = plain_table("setting", "value", "from")
    for name, value in found.items():
        shown = "" if value in (None, {}) else json.dumps(value) if isinstance(value, dict) else str(value)
        table.add_row(name, escape(shown), "" if where[name] == "default" else escape(where[name]))
    console = Console(highlight=False)
    console.print(table)
    exists = "" if settings_file().exists() else ", which does not exist yet"
    console.print(f"\nThe settings file is {escape(str(settings_file()))}{exists}.", soft_wrap=True)
