"""The toy plugin, its broken copies and a new plugin, installed side by side, and a pool that knows them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from akg_core.registry import installed
from akg_core.stages.warm import WARM
from akg_core.templates import write_plugin
from akg_core.worker.pool import Pool
from tests.conformance import broken, toy


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where they lie; nobody else's tests find them."""
    folder = tmp_path_factory.mktemp("site")
    toy.install(folder, "toy")
    for copy in broken.COPIES:
        toy.install(folder, copy.name, copy.edits)
    write_plugin(folder / "new", name="my_npu", dsl="mylang", backend="npu")
    toy.write(folder / "new", toy.distribution("my_npu", "akg_plugin_my_npu.plugin"))
    return folder


@pytest.fixture
def site(folder: Path) -> Iterator[Path]:
    """The folder, on sys.path for one test."""
    with found(folder):
        yield folder


@pytest.fixture(scope="session")
def lasting(folder: Path) -> Iterator[Pool]:
    """One warm parent for all tests: it keeps the path that it was started with."""
    with found(folder):
        pool = Pool(warm=WARM)
    with pool:
        yield pool


@pytest.fixture
def pool(site: Path, lasting: Pool) -> Pool:
    """A pool that finds what this process finds."""
    return lasting


@contextmanager
def found(folder: Path) -> Iterator[None]:
    """Have this process find the plugins of a folder; afterwards nothing of them is left in it."""
    before = list(sys.path)
    sys.path += [str(folder), str(folder / "new")]
    installed.cache_clear()
    try:
        yield
    finally:
        sys.path[:] = before
        installed.cache_clear()
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", "")).startswith(str(folder)):
                del sys.modules[name]
