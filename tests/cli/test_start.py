from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).with_name("akg-core")


def imported(*words: str) -> list[str]:
    """Names of the modules that a command imports: what its start takes, on a machine however busy."""
    command = [sys.executable, "-X", "importtime", COMMAND, *words]
    ended = subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return [line.rpartition("|")[2].strip() for line in ended.stderr.splitlines() if line.startswith("import time:")]


@pytest.mark.parametrize(("words", "limit"), [(["--help"], 250), (["run", "--help"], 400), (["plugins"], 500)])
def test_the_command_line_starts_at_once(words, limit):
    found = imported(*words)
    assert "akg_core.cli" in found and len(found) < limit
    assert not {"torch", "sqlalchemy", "numpy"} & set(found)


def test_the_users_process_imports_no_torch():
    script = """
import sys
import akg_core.cli.app, akg_core.pipeline.pipeline, akg_core.registry, akg_core.doctor, akg_core.worker.pool
akg_core.registry.installed().plugins()
assert "torch" not in sys.modules, "torch"
assert "sqlalchemy" not in sys.modules, "sqlalchemy"
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_every_command_has_help():
    for command in ("run", "sketch", "verify", "profile", "tune", "plugins", "doctor", "task check"):
        said = subprocess.run([COMMAND, *command.split(), "--help"], check=True, capture_output=True, text=True).stdout
        assert "--json" in said
