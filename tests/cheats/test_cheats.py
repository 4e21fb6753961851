"""No candidate of `candidates/` is ever judged correct, and each is caught by the rule that its header names."""

from __future__ import annotations

import py_compile
from collections.abc import Iterator
from pathlib import Path

import pytest

from akg_core.records import Artifact, Target
from akg_core.stages.warm import WARM
from akg_core.worker.pool import Pool
from tests.cheats import judging
from tests.cheats.judging import FOLDER, Bench, bench, header, is_caught, lay_out

CANDIDATES = sorted(FOLDER.glob("candidates/*/*.py"))
UNUSUAL = sorted(FOLDER.glob("unusual/*.py"))
TASKS = sorted({header(path).get("Task", "reference") for path in (*CANDIDATES, *UNUSUAL)})


@pytest.fixture(scope="module")
def judges(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder, target = tmp_path_factory.mktemp("prepared"), Target(backend="cpu")
    with (
        Pool(warm=WARM) as pool,
        bench(pool, folder, TASKS, "cpp_cpu", target, lends=False, simulated=False) as judges,
    ):
        yield judges


@pytest.mark.parametrize("path", CANDIDATES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_cheat_is_caught(path: Path, judges: Bench, tmp_path: Path, record_property: pytest.RecordProperty) -> None:
    found = judges.judge(path, tmp_path)
    for number in range(2 if found.status == "gains" else 0):
        # beside a busy machine the first call may seem slow, and turns have fewer calls: who gains, gains each time
        if found.status == "gains":
            (tmp_path / f"again_{number}").mkdir()
            found = judges.judge(path, tmp_path / f"again_{number}")
    record_property("caught", (path.parent.name, found.status, found.rule))
    assert is_caught(found, path), found


def test_machine_code_that_is_honest_is_right(judges: Bench, tmp_path: Path) -> None:
    found = judges.judge(FOLDER / "honest_native.py", tmp_path)
    assert found.status == "ok", found


@pytest.mark.parametrize("path", UNUSUAL, ids=lambda path: path.stem)
def test_what_is_unusual_and_honest_is_right(path: Path, judges: Bench, tmp_path: Path) -> None:
    found = judges.judge(path, tmp_path)
    assert found.status == "correct", found


def test_text_is_run_and_not_what_lies_compiled_beside_it(
    judges: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def beside(path: Path, task: str, folder: Path) -> Artifact:
        artifact, second = lay_out(path, task, folder), folder / "honest_on_host.py"
        text = second.read_text()
        second.write_text("def softmax(x, scale):\n    return x\n")
        py_compile.compile(str(second), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
        second.write_text(text)
        return artifact

    monkeypatch.setattr(judging, "lay_out", beside)
    path = tmp_path / "imports_when_called.py"
    model = "class ModelNew(Model):\n    def forward(self, x):\n        "
    called = "return __import__('honest_on_host').softmax(x, self.scale)\n"
    path.write_text(f'"""Verdict: correct"""\n\nfrom reference import Model\n\n\n{model}{called}')
    assert judges.judge(path, tmp_path / "laid_out").status == "correct"


def test_every_class_has_candidates_with_headers() -> None:
    for path in (*CANDIDATES, *FOLDER.glob("triton/*/*.py")):
        assert {"Seen", "Verdict"} <= header(path).keys(), path
        assert not {"correct", "ok", "gains"} & {*header(path)["Verdict"].split("|")}, path
