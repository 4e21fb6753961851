"""A suite of two small tasks, run whole, and gone on with after it was ended."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from akg_core.bench import runner, suite
from akg_core.bench.results import Results
from akg_core.records import Target
from akg_core.stages import Request
from tests.cli.conftest import ADD, PLUGIN, needs_compiler

pytestmark = needs_compiler


@pytest.fixture
def problems(tmp_path):
    folder = tmp_path / "pointwise"
    folder.mkdir()
    (folder / "add.py").write_text(ADD)
    (folder / "inverse.py").write_text(ADD.replace("a + b", "torch.linalg.svdvals(a) + b[0, 0]"))
    return suite.files([folder])


def test_a_run_goes_on_where_it_was_ended(problems, tmp_path):
    out, told = tmp_path / "out.json", []
    request = Request(reference=problems[0].path, plugin=PLUGIN, target=Target(backend="cpu"))
    plan = runner.Plan("files", ("eager",), 0.1, 2, examine=True, folder=tmp_path / "runs")

    def tell(row, place, of):
        told.append((row.name, place, of))

    whole = runner.run(problems, request, plan, out, tell)
    assert told == [("add", 1, 2), ("inverse", 2, 2)]
    add, inverse = whole.rows
    assert add.status == "correct" and add.ratio("eager") > 0 and add.median_ms["kernel"] > 0 and not add.weak
    assert inverse.status == "failed" and "svd" in inverse.reason
    assert Results(**json.loads(out.read_text())) == whole and whole.finished and whole.machine["cores"] >= 1

    replace_last = whole.model_copy(update={"rows": whole.rows[:1], "finished": False})
    replace_last.write(out)
    told.clear()
    again = runner.run(problems, request, plan, out, tell)
    assert told == [("inverse", 2, 2)] and again.rows[0] == add

    replace_last.write(out)
    told.clear()
    runner.run(problems, replace(request, seed=1), plan, out, tell)
    assert len(told) == 2, "another seed is another run"
