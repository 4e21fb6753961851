"""An error for a person, on stderr (or, after --json, as data on stdout)."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import Any

from akg_core.errors import AkgError
from akg_core.foreign import shown


def error_data(error: AkgError) -> dict[str, Any]:
    """What --json prints of an error."""
    return {"type": type(error).__name__, "message": error.message, "cure": error.cure, "exit_code": error.exit_code}


def as_data() -> bool:
    """Whether the command line asks for JSON, whatever else may be wrong with it."""
    return "--json" in sys.argv


def give_up_stdout() -> None:
    """Have what is left to print go nowhere, for where it was to go takes no more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show_error(error: AkgError) -> None:
    """Print the sentence and the cure; in JSON when the command line asked for JSON and that can be written."""
    if as_data():
        with contextlib.suppress(OSError):
            print(json.dumps({"error": error_data(error)}, indent=2), flush=True)
            return
        give_up_stdout()
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(Text.assemble(("error: ", "bold red"), shown(error.message)))
    if error.cure:
        console.print(Text(f"  {shown(error.cure)}", style="default"))
