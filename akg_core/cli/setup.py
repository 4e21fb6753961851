"""`akg-core setup`: the environment that a plugin's toolchain needs, made once, or removed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from akg_core.cli.options import Json

if TYPE_CHECKING:
    from akg_core.environment import Made


def setup(
    plugin: Annotated[str, typer.Argument(metavar="NAME", help="The plugin.", show_default=False)],
    python: Annotated[
        Path | None, typer.Option(help="The Python of an environment that is there, instead of one that is made.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove what was made.")] = False,
    as_json: Json = False,
) -> None:
    """Make the environment that a plugin's toolchain needs.

    It is made once, in the user's cache folder; a plugin whose toolchain lives beside akg-core needs none.
    """
    from akg_core import environment

    if remove:
        gone = environment.remove(plugin)
        said = f"The environment of {plugin} was removed." if gone else f"There is no environment of {plugin}."
        _tell(as_json, plugin, "removed" if gone else "absent", said)
        return
    from akg_core.registry import environment_of

    if not (needed := environment_of(plugin)):
        _tell(as_json, plugin, "not needed", f"{plugin} needs no environment of its own: there is nothing to set up.")
    elif python:
        taken = environment.adopt(plugin, needed, python)
        said = f"The environment of {plugin} is now that of {taken.python}: {needed.toolchain} {taken.version}."
        _tell(as_json, plugin, "adopted", said, taken)
    elif made := environment.find(plugin, needed):
        said = f"The environment of {plugin} is there already: {needed.toolchain} {made.version} in {made.folder}."
        _tell(as_json, plugin, "there", said, made)
    else:
        if not as_json:
            print(f"Installing {', '.join(needed.requirements)} …", flush=True)
        made = environment.set_up(plugin, needed)
        said = f"The environment of {plugin} was made: {needed.toolchain} {made.version} in {made.folder}."
        _tell(as_json, plugin, "made", said, made)


def _tell(as_json: bool, plugin: str, state: str, said: str, made: Made | None = None) -> None:
    """Say how it stands, and what the plugin finds on this machine with the environment that is there."""
    from akg_core.registry import installed
    from akg_core.stages.pools import here

    found = here(installed().select(plugin)) if made else {}
    if as_json:
        import json

        chips = {backend: chip.model_dump(mode="json") for backend, chip in found.items()}
        about = made.model_dump(mode="json", include={"python", "version"}) if made else {}
        print(json.dumps({"plugin": plugin, "state": state, **about, "here": chips}, indent=2))
        return
    print(said)
    for backend, chip in found.items():
        if chip.reason:
            print(f"{backend}: {chip.reason} {chip.cure}".strip())
