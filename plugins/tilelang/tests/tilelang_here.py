"""Has scripts of this folder answer questions in the environment of TileLang, where tests themselves do not run."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from akg_core import environment
from akg_core.registry import hooks

HERE = Path(__file__).parent
MADE = environment.find("tilelang", hooks("tilelang").akg_plugin_info().environment)
needs_tilelang = pytest.mark.skipif(MADE is None, reason="TileLang is not here: `akg-core setup tilelang` installs it.")


@contextmanager
def asked(script: str, folder: Path) -> Iterator[Callable[[str], str]]:
    """ask(line): what one process that runs `script FOLDER` answers to a line, read as JSON."""
    assert MADE is not None
    path = os.pathsep.join([str(HERE.parents[2]), *MADE.search_path()])
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(
            [str(MADE.python), str(HERE / script), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        ) as process,
    ):
        assert process.stdin is not None and process.stdout is not None
        asks, answers = process.stdin, process.stdout

        def ask(line: str) -> str:
            print(line, file=asks, flush=True)
            answer = answers.readline()
            assert answer, (folder / "log").read_text()[-2000:]
            return str(json.loads(answer))

        yield ask
