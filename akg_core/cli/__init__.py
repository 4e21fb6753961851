"""The command line: one file per command, and here what they share at the door.

Command modules import nothing heavy at their top, so that `akg-core --help` is instant.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from akg_core.errors import AkgError, Interrupted, UsageError, debugging, told

if TYPE_CHECKING:
    from typer import Typer


def main(commands: Typer | None = None) -> None:
    """Run `akg-core`, or other `commands` by its rules.

    Exit codes: 0 done, 1 a kernel failed, 2 the user can mend it, 130 interrupted. No traceback.
    """
    try:
        from akg_core.cli.app import app

        code = (commands or app)(standalone_mode=False)
        if code == Interrupted.exit_code:  # typer's word for an interrupt that no command reported itself
            raise KeyboardInterrupt
    except BrokenPipeError:
        from akg_core.report.error import give_up_stdout

        give_up_stdout()
        sys.exit(1)
    except (Exception, KeyboardInterrupt) as error:
        if debugging():
            raise
        code = _report(error)
    sys.exit(code)


def _report(error: Exception | KeyboardInterrupt) -> int:
    """Show what went wrong as a sentence, or as data when that was asked for; the exit code."""
    from akg_core.report.error import as_data, show_error

    show = getattr(error, "show", None)  # typer's own errors show themselves, with the command's usage
    if show and not as_data():
        show()
        return UsageError.exit_code
    said = _sentence(error)
    show_error(said)
    return said.exit_code


def _sentence(error: Exception | KeyboardInterrupt) -> AkgError:
    if isinstance(error, KeyboardInterrupt):
        return Interrupted("Interrupted; this command keeps nothing.")
    if usage := getattr(error, "format_message", None):
        return UsageError(usage(), "--help shows what the command takes.")
    return told(error)
