"""`akg-core new-plugin`: a plugin to fill in, which already keeps the contract."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from akg_core.cli.options import Json


def new_plugin(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What users will type: toy_cpu.", show_default=False)],
    dsl: Annotated[str, typer.Option("--dsl", metavar="DSL", help="The language of its kernels.", show_default=False)],
    backend: Annotated[
        str, typer.Option("--backend", metavar="BACKEND", help="The family of chips.", show_default=False)
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Where to write (default akg-plugin-NAME).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a plugin to fill in.

    It is a package of its own, passes level contract of the conformance suite, and says what is missing.
    """
    import json

    from akg_core.templates import gaps, write_plugin

    folder = out or Path(f"akg-plugin-{name.replace('_', '-')}")
    files = write_plugin(folder, name=name, dsl=dsl, backend=backend)
    missing = gaps(folder)
    if as_json:
        print(json.dumps({"folder": str(folder), "files": files, "to_fill_in": missing}, indent=2))
        return
    print(f"written to {folder}: {', '.join(files)}")
    print("To fill in:", *missing, sep="\n  ")
    print(f"Then: pip install -e {folder} && akg-core conformance {name}")
