"""What the emitter writes computes what the sketch's interpreter computes, run by Triton's interpreter.

The cases are a twelfth of those of every emitter, each with sizes known or unknown; the conformance suite runs others.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from akg_core.testing.emission import cases

LACKING = re.compile("f64|casts|meet")  # what these chips refuse
HERE = Path(__file__).parent
NAMES = [case.name for case in cases.small() if not LACKING.search(case.name)][::12]


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """simulated(name): what is wrong with the case, "" where nothing is; one process answers for all."""
    folder = tmp_path_factory.mktemp("simulated")
    path = os.pathsep.join([str(HERE), str(HERE.parents[2]), *sys.path])
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(
            [sys.executable, str(HERE / "npu_simulated.py"), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=environment,
        ) as process,
    ):
        assert process.stdin is not None and process.stdout is not None
        asks, answers = process.stdin, process.stdout

        def ask(name: str) -> str:
            print(name, file=asks, flush=True)
            answer = answers.readline()
            assert answer, (folder / "log").read_text()[-2000:]
            return json.loads(answer)

        yield ask


@pytest.mark.parametrize("name", NAMES)
def test_simulated(simulated: Callable[[str], str], name: str) -> None:
    assert simulated(name) == ""
