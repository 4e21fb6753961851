"""A pool that knows the toy plugin, and reference tasks, shared by the tests of the judge."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from akg_core.judge.reference.prepare import Prepared, prepare
from akg_core.records import Task
from akg_core.worker.pool import Pool
from tests.judge import kernels
from tests.registry.distributions import install


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder on sys.path with the toy plugin and the compiled kernel."""
    folder = tmp_path_factory.mktemp("toy")
    install(folder, "toy", kernels.PLUGIN)
    kernels.build(folder)
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


@pytest.fixture(scope="session")
def pool(toy: Path) -> Iterator[Pool]:
    with Pool(warm=[("torch", "torch._dynamo")]) as pool:
        yield pool


@pytest.fixture(scope="session")
def capture(pool: Pool, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Task]:
    def capture(source: str, **options: object) -> Task:
        path = tmp_path_factory.mktemp("reference") / "task.py"
        path.write_text(source)
        return Task(**pool.call("akg_core.task.capture:capture_job", {"path": str(path), **options}).unwrap())

    return capture


@pytest.fixture(scope="session")
def softmax_source() -> str:
    return kernels.SOFTMAX.format(rows=33, columns=301)


@pytest.fixture(scope="session")
def prepared(pool: Pool, capture: Callable[..., Task], softmax_source: str, tmp_path_factory) -> Iterator[Prepared]:
    with prepare(pool, capture(softmax_source), tmp_path_factory.mktemp("prepared")) as prepared:
        yield prepared
