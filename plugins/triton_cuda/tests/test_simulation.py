"""What the emitter writes computes what the sketch's interpreter computes, run by Triton's interpreter.

The cases are those of every emitter: small ones by family, each with sizes known and unknown, the twelve sketches, and
random ones.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.emission import cases

HERE = Path(__file__).parent
SHARDS = 2
NAMES = [case.name for case in (*cases.small(), *cases.random(40))]


@pytest.fixture(scope="session")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What was wrong with each case, "" where nothing was."""
    folder = tmp_path_factory.mktemp("simulated")
    path = os.pathsep.join([str(HERE), str(HERE.parents[2]), *sys.path])

    def run(shard: int) -> dict[str, str]:
        command = [sys.executable, str(HERE / "simulated.py"), str(folder), str(shard), str(SHARDS), *NAMES]
        ended = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        )
        assert ended.returncode == 0, ended.stderr[-2000:]
        lines = [json.loads(line) for line in ended.stdout.splitlines()]
        return {line["name"]: line["wrong"] for line in lines}

    with ThreadPoolExecutor(SHARDS) as pool:
        return {name: wrong for part in pool.map(run, range(SHARDS)) for name, wrong in part.items()}


@pytest.mark.parametrize("name", NAMES)
def test_simulated(said: dict[str, str], name: str) -> None:
    assert said[name] == ""
