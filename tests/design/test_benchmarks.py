"""Every task of the benchmarks: what is designed for it has no finding, at fixed sizes and at sizes that vary."""

from __future__ import annotations

from pathlib import Path

import pytest

from akg_core.design import design
from akg_core.sketch.check import check
from akg_core.sketch.parse import parse
from akg_core.task.capture import capture_file
from tests.design.judging import SMALL, USUAL

TASKS = sorted((Path(__file__).parents[2] / "benchmarks" / "tasks").glob("*/*.py"))


@pytest.mark.parametrize("dynamic", [False, True], ids=["fixed", "dynamic"])
@pytest.mark.parametrize("path", TASKS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_variant_has_a_finding(path: Path, dynamic: bool) -> None:
    task = capture_file(path, dynamic=dynamic)
    assert bool(task.symbols) == dynamic
    for traits in (SMALL, USUAL):
        for sketch in design(task, traits):
            assert check(parse(sketch.text)).findings == (), sketch.text
