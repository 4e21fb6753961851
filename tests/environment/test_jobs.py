"""Jobs that need the toolchain find it in its environment; all others, and core, find what lies beside core."""

from __future__ import annotations

import importlib.metadata
import json

import pytest

from akg_core import environment
from akg_core.errors import ToolchainError
from akg_core.registry import environment_of
from akg_core.stages import pools
from tests.environment import wheels
from tests.environment.conftest import BESIDE, THEIRS

LOOK = "tests.environment.looking:look"
RELU = """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(50, 37)]


def get_init_inputs():
    return []
"""


@pytest.fixture
def ready(akg, plugin, wheel):
    """The plugin, with its environment."""
    plugin(wheel)
    assert akg("setup", wheels.NAME)[0] == 0


def test_a_run_uses_the_environments_toolchain_and_core_its_own(ready, akg, tmp_path):
    (tmp_path / "ref.py").write_text(RELU)
    code, said = akg("run", "ref.py", "--plugin", "tiled", "--no-baseline", "--json")
    result = json.loads(said)
    assert code == 0 and result["error"] is None and result["verdict"]["status"] == "correct"
    assert result["timing"]["status"] == "ok"
    assert result["versions"]["tiler"] == THEIRS
    assert importlib.metadata.version("tiler") == BESIDE, "this process sees what lies beside core"


def test_each_job_runs_in_its_python(ready, monkeypatch):
    monkeypatch.setattr(pools, "TOOLCHAIN_JOBS", (*pools.TOOLCHAIN_JOBS, LOOK))
    made = environment.require("tiled", environment_of("tiled"))
    with pools.pool_for("tiled") as pool:
        there = pool.call(LOOK, {}).unwrap()
        here = pool.call(f"{LOOK}_here", {}).unwrap()
    assert (there["tiler"], there["metadata"]) == (THEIRS, THEIRS) and there["prefix"] == str(made.folder)
    assert (here["tiler"], here["metadata"]) == (BESIDE, BESIDE) and here["prefix"] != str(made.folder)
    assert there["core"] == here["core"] and there["pydantic"] == here["pydantic"] and there["torch"] == here["torch"]


def test_the_workers_of_an_environment_end_with_the_others(ready):
    with pools.pool_for("tiled") as pool:
        session = pool.session(function=pools.TOOLCHAIN_JOBS[0])
        assert session.folder.parent != pool.folder and session.folder.exists()
    assert session.closed and not session.folder.parent.exists()


def test_a_missing_environment_says_what_to_type(akg, plugin, wheel, tmp_path):
    plugin(wheel)
    (tmp_path / "ref.py").write_text(RELU)
    told = ("The environment of tiled is not set up.", "`akg-core setup tiled` makes it.")
    for words in (["run", "ref.py"], ["tune", "ref.py"], ["bench", "ref.py"], ["sketch", "ref.py"], ["plugins"]):
        code, said = akg(*words, *([] if words == ["plugins"] else ["--plugin", "tiled"]))
        assert code == (0 if words == ["plugins"] else 2), words
        assert all(sentence in said for sentence in told), words
    code, said = akg("doctor", "--plugin", "tiled")
    assert code == 1 and all(sentence in said for sentence in told)
    code, said = akg("run", "ref.py", "--plugin", "tiled", "--json")
    assert code == 2 and json.loads(said)["error"]["cure"] == told[1]


def test_an_environment_whose_python_went_is_not_there(ready, environments):
    (python,) = environments.glob("*/bin/python")
    python.unlink()
    with pytest.raises(ToolchainError, match="`akg-core setup tiled` makes it"):
        pools.pool_for("tiled")
