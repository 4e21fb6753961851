"""Running a tool with a time limit; what it started dies with it."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, and what it wrote to stdout and stderr together."""

    code: int
    output: str


def run(command: list[str], seconds: float, folder: Path | None = None) -> Ended:
    """Run `command` for at most `seconds`; code 124 when the time was up."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "LC_ALL": "C"},
        start_new_session=True,
    )
    try:
        output = process.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output = process.communicate()[0]
        return Ended(
            124, output.decode(errors="replace") + f"\n{Path(command[0]).name} took more than {seconds:.0f} s\n"
        )
    return Ended(process.returncode, output.decode(errors="replace"))
