"""`akg-core docs`: what a plugin's documents say of something, and the page of operators."""

from __future__ import annotations

from typing import Annotated

import typer

from akg_core.cli.options import Json, PluginName

app = typer.Typer(help="What documents say.", no_args_is_help=True)


@app.callback()
def docs() -> None:
    """What documents say."""


@app.command("search")
def search(
    words: Annotated[str, typer.Argument(metavar="WORDS", help="What to look for.", show_default=False)],
    plugin: PluginName = "",
    most: Annotated[int, typer.Option("--most", metavar="N", help="How many sections to show.", min=1)] = 3,
    as_json: Json = False,
) -> None:
    """Show the sections of a plugin's documents that say most about some words, as a model would be told them."""
    import json

    from rich.console import Console
    from rich.markdown import Markdown
    from rich.rule import Rule

    from akg_core.agents import embeddings
    from akg_core.agents.budget import Budget, Limits
    from akg_core.agents.client import Client
    from akg_core.agents.library import Library
    from akg_core.agents.settings import read_settings
    from akg_core.cli.options import select_plugin
    from akg_core.registry import hooks

    name = select_plugin(plugin).name
    library = Library()
    library.file_pages(name, hooks(name).akg_docs())
    settings = read_settings()
    if settings.embed_model:
        with Client(settings, Budget(Limits())) as client:
            found = embeddings.search(library, name, words, client, most)
    else:
        found = library.search(name, words, most=most)
    if as_json:
        print(json.dumps([one.model_dump(mode="json") for one in found], indent=2))
        return
    console = Console(highlight=False)
    for one in found:
        console.print(Rule(f"[bold]{one.section.page}[/] › {' › '.join(one.section.path)}", align="left", style="dim"))
        console.print(Markdown(one.section.text))
    if not found:
        console.print(f"The documents of {name} say nothing of that.")


@app.command("operators")
def operators(as_json: Json = False) -> None:
    """Print the operators that the builtin designer has rules for, as docs/operators.md has them."""
    import json

    from akg_core.report.operators import operators_by_family, page

    print(json.dumps(operators_by_family(), indent=2) if as_json else page(), end="\n" if as_json else "")
