"""What is imported before any job comes."""

from __future__ import annotations

import pkgutil

import pytest

from akg_core.errors import PluginError
from akg_core.records import PluginInfo
from akg_core.registry import Plugin, installed
from akg_core.stages import warm

ASKS_A_PLUGIN = (
    "akg_core.stages.stage_jobs:probe_job",
    "akg_core.stages.stage_jobs:compile_job",
    "akg_core.judge.reference.process:open_job",
    "akg_core.judge.timing.idle:turn_job",
    "akg_core.judge.candidate.jobs:run_job",
    "akg_core.judge.candidate.jobs:profile_job",
)


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch):
    """Have the plugin that is selected say of itself which modules are to be warm."""

    def says(*modules: str) -> None:
        info = PluginInfo(name="a", dsl="a", backends=("cpu",), dtypes=(), source_suffix=".a", warm=modules)
        monkeypatch.setattr(installed(), "select", lambda name: Plugin(name, "d", "1", info=info))

    return says


def test_jobs_of_a_plugin_find_its_modules_and_nobody_before_waits_for_them(says) -> None:
    says("wave")
    first, second, *later = warm.warm_for("a")
    assert (first, *later) == warm.WARM and second[0] == "wave" and set(ASKS_A_PLUGIN) < set(second)


def test_every_job_that_is_named_is_one(says) -> None:
    says()
    named = [name for layer in warm.warm_for("a") for name in layer if ":" in name]
    says("wave")
    named += [name for layer in warm.warm_for("a")[1:] for name in layer if ":" in name]
    assert named and all(callable(pkgutil.resolve_name(name)) for name in named)


def test_a_plugin_that_names_none_has_the_usual_layers(says) -> None:
    says()
    assert warm.warm_for("a") == warm.WARM


def test_a_plugin_that_is_not_there_is_said() -> None:
    with pytest.raises(PluginError, match="There is no plugin 'nowhere'"):
        warm.warm_for("nowhere")
