"""A disk without room: one sentence, exit code 2, and the same code in what could still be written."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from pathlib import Path

import pytest

from akg_core.pipeline.pipeline import Pipeline
from tests.cli.conftest import PLUGIN
from tests.cli.test_start import COMMAND

SAID = "There is no room left on the disk"


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_where_output_goes(options):
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run([COMMAND, "plugins", *options], stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 2 and SAID in ended.stderr and "Traceback" not in ended.stderr


def test_where_a_run_is_kept(akg, reference, tmp_path, monkeypatch):
    def capture(_: Pipeline) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Pipeline, "capture", capture)
    ended = akg("run", "--plugin", PLUGIN, "--out", "out", reference)
    kept = json.loads((tmp_path / "out" / "result.json").read_text())["error"]
    assert ended.code == kept["exit_code"] == 2 and SAID in ended.text and SAID in kept["message"]
