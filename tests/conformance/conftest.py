"""The toy plugin and its broken copies, installed side by side, and a pool that knows them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from akg_core.pipeline import WARM
from akg_core.registry import installed
from akg_core.worker.pool import Pool
from tests.conformance import broken, toy


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder on sys.path with all of them."""
    folder = tmp_path_factory.mktemp("site")
    toy.install(folder, "toy")
    for copy in broken.COPIES:
        toy.install(folder, copy.name, copy.edits)
    sys.path.append(str(folder))
    installed.cache_clear()
    yield folder
    sys.path.remove(str(folder))
    installed.cache_clear()


@pytest.fixture(scope="session")
def pool(site: Path) -> Iterator[Pool]:
    with Pool(warm=WARM) as pool:
        yield pool
