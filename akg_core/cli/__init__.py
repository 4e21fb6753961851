"""The command line: one file per command, and here what they share at the door.

Command modules import nothing heavy at their top, so that `akg-core --help` is instant.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run `akg-core`. Exit codes: 0 done, 1 a kernel failed, 2 the user can mend it. Never a traceback."""
    from akg_core.cli.app import app
    from akg_core.errors import AkgError

    try:
        app()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if os.environ.get("AKG_DEBUG", "") not in ("", "0"):
            raise
        from akg_core.report.error import show_error

        if isinstance(error, OSError) and error.filename is not None:
            error = AkgError(f"{str(error.filename)!r} cannot be used: {error.strerror}.", "Give another with --out.")
        elif not isinstance(error, AkgError):
            said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            error = AkgError(f"Something unforeseen: {said}.", "AKG_DEBUG=1 shows where; please report it.")
            error.exit_code = 1
        show_error(error)
        sys.exit(error.exit_code)
