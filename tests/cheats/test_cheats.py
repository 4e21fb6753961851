"""No candidate of `candidates/` is ever judged correct, and each is caught by the rule that its header names."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from akg_core.judge.prepare import Prepared, prepare
from akg_core.judge.timing import measure
from akg_core.judge.verify import verify
from akg_core.pipeline import WARM
from akg_core.records import Artifact, Target, Task
from akg_core.worker.pool import Pool

FOLDER = Path(__file__).parent
CANDIDATES = sorted(FOLDER.glob("candidates/*/*.py"))
CPU = Target(backend="cpu")


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(warm=WARM) as pool:
        yield pool


@pytest.fixture(scope="module")
def prepared(pool: Pool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prepared]:
    captured = pool.call("akg_core.task.capture:capture_job", {"path": str(FOLDER / "reference.py")}).unwrap()
    with prepare(pool, Task(**captured), tmp_path_factory.mktemp("prepared"), seconds=0.0) as prepared:
        yield prepared


def header(path: Path) -> dict[str, str]:
    """The fields at the end of a candidate's docstring."""
    return dict(re.findall(r"^(Seen|Verdict|Rule|Judged): *(.*)$", path.read_text().split('"""')[1], re.MULTILINE))


@pytest.mark.parametrize("path", CANDIDATES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_cheat_is_caught(
    path: Path, pool: Pool, prepared: Prepared, tmp_path: Path, record_property: pytest.RecordProperty
) -> None:
    shutil.copyfile(path, tmp_path / "model_new.py")
    shutil.copyfile(FOLDER / "reference.py", tmp_path / "reference.py")
    said = header(path)
    if "Judged" in said:
        found = measure(pool, prepared, "cpp_cpu", Artifact(folder=tmp_path), CPU, seconds=0.1)
        rule = found.reason
    else:
        found = verify(pool, prepared, "cpp_cpu", Artifact(folder=tmp_path), CPU, seconds=20.0)
        rule = found.rule or found.reason
    record_property("caught", (path.parent.name, found.status, rule.partition(":")[0].rstrip(".")))
    assert found.status in said["Verdict"].split("|"), found
    assert said.get("Rule", "") in rule, found


def test_every_class_has_candidates_with_headers() -> None:
    for path in CANDIDATES:
        assert {"Seen", "Verdict"} <= header(path).keys(), path
        assert "correct" not in header(path)["Verdict"].split("|"), path
