"""What the emitter writes computes what the sketch's interpreter computes, by its TIR; needs the plugin's environment.

One case in `STEP` is run here, of every family; `simulated.py` runs any by its name.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from akg_core import environment
from akg_core.registry import hooks
from akg_core.testing.emission import cases

HERE = Path(__file__).parent
STEP = 13
NAMES = [case.name for case in cases.small() if not case.name.startswith("meet_")][::STEP]
MADE = environment.find("tilelang", hooks("tilelang").akg_plugin_info().environment)
pytestmark = pytest.mark.skipif(MADE is None, reason="TileLang is not here: `akg-core setup tilelang` installs it.")


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """simulated(name): what is wrong with the case, "" where nothing is; one process answers for all."""
    assert MADE is not None
    folder = tmp_path_factory.mktemp("simulated")
    path = os.pathsep.join([str(HERE.parents[2]), *MADE.search_path()])
    command = [str(MADE.python), str(HERE / "simulated.py"), str(folder)]
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        ) as process,
    ):
        assert process.stdin is not None and process.stdout is not None
        asks, answers = process.stdin, process.stdout

        def ask(name: str) -> str:
            print(name, file=asks, flush=True)
            answer = answers.readline()
            assert answer, (folder / "log").read_text()[-2000:]
            return str(json.loads(answer))

        yield ask


@pytest.mark.parametrize("name", NAMES)
def test_simulated(simulated: Callable[[str], str], name: str) -> None:
    assert simulated(name) == ""
