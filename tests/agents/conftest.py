"""A pool and a plugin for the tests of the agents, and nothing of the user's settings."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from akg_core import cli
from akg_core.agents.budget import Limits
from akg_core.agents.engine import Agenda, run
from akg_core.agents.settings import Settings
from akg_core.records import Target
from akg_core.registry import installed
from akg_core.runs import RunFolder
from akg_core.stages.stages import Request
from akg_core.stages.warm import WARM
from akg_core.worker import pool as pools
from tests.agents import plain_c
from tests.agents.server import Server
from tests.registry.distributions import install


@pytest.fixture(scope="session")
def cache(tmp_path_factory) -> Path:
    """A cache folder for all tests, so that the machine is measured once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def nothing_of_the_user(monkeypatch, tmp_path, cache):
    """No settings and no cache of whoever runs the tests, an empty library, and no long pauses."""
    monkeypatch.setenv("AKG_SETTINGS", str(tmp_path / "settings.toml"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    (cache / "akg-core" / "library.sqlite").unlink(missing_ok=True)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "AKG_LLM_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("akg_core.agents.client._LONGEST_PAUSE", 0.02)


@pytest.fixture(scope="session")
def warm_pool(tmp_path_factory):
    """One pool that knows the plugin for plain C, for all tests."""
    folder = tmp_path_factory.mktemp("plain_c")
    install(folder, "plain_c", plain_c.PLUGIN)
    sys.path.insert(0, str(folder))
    installed.cache_clear()
    with pools.Pool(warm=WARM) as pool:
        yield pool
    sys.path.remove(str(folder))
    installed.cache_clear()


@pytest.fixture
def work(warm_pool, monkeypatch, tmp_path):
    """Run the engine against a server: work(server, folder?, attempts=…) → RunResult."""

    @contextmanager
    def shared(*_, **__):
        yield warm_pool

    monkeypatch.setattr(pools, "Pool", shared)
    reference = tmp_path / "scaled.py"
    reference.write_text(plain_c.REFERENCE)

    def go(server: Server, folder: Path | None = None, plugin: str = "plain_c", limits=Limits(), **how):
        settings = Settings(base_url=server.url, model="toy", retries=1, silence_seconds=2, **how.pop("settings", {}))
        request = Request(reference=reference, plugin=plugin, target=Target(backend="cpu"), baseline=False)
        agenda = Agenda(settings=settings, limits=limits, seconds=0.3, **how)
        return run(request, RunFolder(folder or tmp_path / "run"), lambda stage: None, agenda)

    return go


@pytest.fixture
def akg(work, monkeypatch, capsys, tmp_path):
    """Run `akg-core` in this process; `work` shares its pool and leaves scaled.py."""

    def call(*words: object):
        monkeypatch.setattr(sys, "argv", ["akg-core", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        assert "Traceback" not in said.out + said.err
        return ended.value.code or 0, said.out + said.err

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    return call
