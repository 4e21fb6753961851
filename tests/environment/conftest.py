"""A plugin whose toolchain lives in an environment of its own, while another version of it lies beside core."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from akg_core import cli
from akg_core.registry import installed
from tests.environment import wheels

BESIDE, THEIRS = "1.0", "2.0"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toolchain of the environment."""
    return wheels.wheel(tmp_path_factory.mktemp("wheels"), THEIRS)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """What core's Python finds besides what is really installed; a cache of its own, and no package index."""
    folder = tmp_path / "site"
    folder.mkdir()
    wheels.install_beside(folder, BESIDE)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    known = set(sys.modules)
    installed.cache_clear()
    yield folder
    installed.cache_clear()
    for name in set(sys.modules) - known:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(folder)):
            del sys.modules[name]


@pytest.fixture
def environments(tmp_path: Path) -> Path:
    """Where the plugin's environments are made."""
    return tmp_path / "cache" / "akg-core" / "environments" / wheels.NAME


@pytest.fixture
def plugin(site: Path) -> Callable[..., None]:
    """Install the plugin, anew where it is: plugin("tiler @ file:///…", pythons=…)."""

    def plugin(*requirements: object, pythons: tuple[str, ...] = ()) -> None:
        package = f"akg_plugin_{wheels.NAME}"
        for name in [name for name in sys.modules if name.split(".")[0] == package]:
            del sys.modules[name]
        texts = [f"tiler @ {given.as_uri()}" if isinstance(given, Path) else str(given) for given in requirements]
        wheels.install_plugin(site, *texts, pythons=pythons, core=BESIDE, theirs=THEIRS)
        for cached in site.glob(f"{package}/__pycache__/*"):
            cached.unlink()  # whose source may be as long and as old
        installed.cache_clear()

    return plugin


@pytest.fixture
def akg(site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> Callable[..., tuple[int, str]]:
    """Run `akg-core` in this process: akg("setup", "tiled") → (exit code, what was printed)."""

    def call(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["akg-core", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        assert "Traceback" not in said.out + said.err
        return int(ended.value.code or 0), said.out + said.err

    return call
