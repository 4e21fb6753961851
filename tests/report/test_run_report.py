from __future__ import annotations

import json

import pytest

from akg_core.judge.records import CaseVerdict, Floor, Measurement, OutputComparison, Speedup, Timing, Verdict
from akg_core.pipeline.results import RunResult, advice_on, by_kernel, known_details
from akg_core.records import Artifact
from akg_core.report.run import show_run
from akg_core.search.tune import Tuned

TOLD = {
    "mm.registers": 168,
    "mm.spilled_bytes": 8,
    "mm.shared_bytes": 98304,
    "mm.warps": 8,
    "mm.occupancy": 0.125,
    "split_left.registers": 32,
    "split_left.occupancy": 1.0,
}


@pytest.fixture
def said(capsys, monkeypatch):
    """The lines that a result is reported by."""
    monkeypatch.setenv("COLUMNS", "150")

    def said(**known):
        show_run(RunResult(task="t", plugin="p", target="x", folder="runs/t", **known), as_json=False)
        return [line.split() for line in capsys.readouterr().out.splitlines()]

    return said


def test_what_the_compiler_tells_stands_in_a_row_for_each_kernel(said):
    lines = said(kernels=by_kernel(TOLD))
    assert ["kernel", "registers", "spilled", "bytes", "shared", "bytes", "warps", "occupancy"] in lines
    assert ["mm", "168", "8", "98304", "8", "12%"] in lines and ["split_left", "32", "100%"] in lines


def test_the_first_schedule_is_set_beside_the_best(said):
    lines = said(tuned=Tuned(tried=16, seconds=3.0, first=2e-3, best=1.6e-3))
    text = "tuning 16 candidates tried: the best takes 1.60 ms, the first schedule 2.00 ms (1.25 times as long)"
    assert text.split() in lines
    alone = "tuning 4 candidates tried"
    assert alone.split() in said(tuned=Tuned(tried=4, seconds=3.0, first=None, best=None))


def test_the_floor_is_said_as_a_share_of_the_time(said):
    measured = Measurement(name="kernel", median=4e-3, low=4e-3, high=4e-3, samples=(4e-3,))
    rates = {"bytes": 1, "bytes_per_second": 1, "operations": 1, "operations_per_second": 1}
    floor = Floor(seconds=3e-3, limited_by="memory", margin=0.5, **rates)
    lines = said(timing=Timing(status="ok", measurements=(measured,), floor=floor))
    share = "physical floor 3.00 ms to move its bytes, 75% of the kernel's time"
    assert share.split() in lines


def test_whose_calls_cannot_be_queued_on_a_device_is_said(said):
    due = "Calls of kernel and eager cannot be queued on the device: what launching takes counts, for all."
    lines = [" ".join(line) for line in said(timing=Timing(status="ok", unqueued=("kernel", "eager")))]
    assert due in " ".join(lines) and due not in " ".join(map(" ".join, said(timing=Timing(status="ok"))))
    lines = [" ".join(line) for line in said(timing=Timing(status="ok", unqueued=("eager",)))]
    assert "Calls of eager cannot be queued on the device: what launching takes counts." in " ".join(lines)


def test_a_kernel_built_earlier_is_known_by_what_lies_beside_it(tmp_path):
    assert known_details(Artifact(folder=tmp_path)) == {}
    (tmp_path / "build.json").write_text(json.dumps(TOLD))
    assert known_details(Artifact(folder=tmp_path)) == TOLD
    (tmp_path / "build.json").write_text("[")
    assert known_details(Artifact(folder=tmp_path)) == {}


@pytest.mark.parametrize(("ratio", "words"), [(0.4, "2.5 times as long as eager"), (0.7, "")])
def test_a_first_schedule_that_is_far_slower_than_eager_comes_with_advice(ratio, words):
    speedup = Speedup(over="eager", ratio=ratio, low=ratio, high=ratio, result="slower")
    timing = Timing(status="ok", speedups=(speedup,))
    unsure = speedup.model_copy(update={"high": 1.1, "result": "inconclusive"})
    assert not advice_on(timing.model_copy(update={"speedups": (unsure,)}), None)
    assert not advice_on(timing.model_copy(update={"waited": 0.3}), None)
    (said,) = advice_on(timing, None) or ("",)
    assert words in said and bool(said) == bool(words) == ("akg-core tune" in said)
    assert not advice_on(timing, Tuned(tried=1, seconds=1.0, first=1.0, best=1.0)) and not advice_on(None, None)


@pytest.mark.parametrize(
    ("allowed", "due"), [(4.0, "25.0% of what is allowed"), (1e-9, "more than 1000 times what is")]
)
def test_how_near_an_error_comes_to_its_limit_is_said_as_far_as_it_says_something(said, allowed, due):
    output = OutputComparison(name="output", ok=False, worst_error=1.0, allowed_error=allowed)
    case = CaseVerdict(name="drawn", ok=False, outputs=(output,))
    verdict = Verdict(status="incorrect", reason="off", cases=(case,), where="drawn: output[0]", worst_error=1.0)
    assert due in " ".join(word for line in said(verdict=verdict) for word in line)
