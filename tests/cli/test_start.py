from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("akg-core")


def processor_seconds(*words: str, runs: int = 5) -> float:
    """The least processor time of a command: on an idle machine its wall time, and the same on a busy one."""
    times = []
    for _ in range(runs):
        process = subprocess.Popen([COMMAND, *words], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        times.append(usage.ru_utime + usage.ru_stime)
    return min(times)


@pytest.mark.parametrize(("words", "limit"), [(["--help"], 0.3), (["run", "--help"], 0.3), (["plugins"], 0.5)])
def test_the_command_line_starts_at_once(words, limit):
    assert processor_seconds(*words) < limit


def test_the_users_process_imports_no_torch():
    script = """
import sys
import akg_core.cli.app, akg_core.pipeline, akg_core.registry, akg_core.doctor, akg_core.worker.pool
akg_core.registry.installed().plugins()
assert "torch" not in sys.modules, "torch"
assert "sqlalchemy" not in sys.modules, "sqlalchemy"
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_every_command_has_help():
    for command in ("run", "sketch", "verify", "profile", "tune", "plugins", "doctor", "task check"):
        said = subprocess.run([COMMAND, *command.split(), "--help"], check=True, capture_output=True, text=True).stdout
        assert "--json" in said
