"""No candidate of `triton/` is judged correct: by simulation here, on a GPU by `python -m tests.cheats.on_device`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from akg_cuda import chips

from akg_core.records import Target
from akg_core.stages.warm import WARM
from akg_core.worker.pool import Pool
from tests.cheats.judging import FOLDER, Bench, bench, header, is_caught

CANDIDATES = [path for path in sorted(FOLDER.glob("triton/*/*.py")) if "Runs" not in header(path)]
HONEST = {
    "reference": FOLDER / "honest.py",
    "product": FOLDER / "honest_product.py",
    "picked": FOLDER / "honest_picked.py",
}

pytestmark = pytest.mark.skipif(bool(chips.gpus()), reason="with a GPU nothing is simulated")


@pytest.fixture(scope="module")
def judges(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder, target = tmp_path_factory.mktemp("prepared"), Target(backend="cuda", arch="sm_90")
    with (
        Pool(warm=WARM) as pool,
        bench(pool, folder, HONEST, "triton_cuda", target, lends=False, simulated=True) as judges,
    ):
        yield judges


@pytest.mark.parametrize("path", CANDIDATES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_cheat_is_caught(path: Path, judges: Bench, tmp_path: Path, record_property: pytest.RecordProperty) -> None:
    found = judges.judge(path, tmp_path)
    record_property("caught", (path.parent.name, found.status, found.rule))
    assert is_caught(found, path), found


@pytest.mark.parametrize("task", HONEST)
def test_the_kernels_that_they_begin_with_are_right(task: str, judges: Bench, tmp_path: Path) -> None:
    assert judges.judge(HONEST[task], tmp_path).status == "correct"
