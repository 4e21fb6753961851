"""Level `emission`: which cases a plugin is given, in which form, and what is told of those that it refuses."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from akg_core.report.conformance import ConformanceReport, markdown
from akg_core.sketch.interpret import interpret
from akg_core.sketch.parse import parse
from akg_core.testing import emitted
from akg_core.testing.emission import cases, jobs
from akg_core.testing.emission.given import chosen, dtypes_of, reference_of, sizes_of, sketch_given
from akg_core.testing.emission.running import Case, Launched, Run, compare_all
from akg_core.testing.levels import Conformity, Outcome, grade
from akg_core.testing.runner import conform
from akg_core.worker.tensors import save

QUICK = [name for name in cases.FAMILIES if name not in ("windows", "halves")]  # which the designer makes


def test_the_suite_does_not_import_the_cases() -> None:
    command = "import sys, akg_core.testing; print('akg_core.testing.emission' in sys.modules, 'torch' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["False", "False"]
    assert emitted.FAMILIES == cases.FAMILIES and len(cases.FAMILIES) == 13


@pytest.mark.parametrize("name", QUICK)
def test_a_family_is_given_with_sizes_known_and_left_to_the_launch(name: str) -> None:
    given = list(chosen(name, 6))
    assert 0 < len(given) <= 6 and all(all(sizes_of(case).values()) for case in given)
    for number, case in enumerate(given):
        sketch = sketch_given(case)
        shapes = [size for argument in sketch.interface.arguments for size in argument.shape]
        left = any(isinstance(size, str) for size in shapes)
        assert left == (not case.static) == (number % 2 == 1 and bool(sizes_of(case)))
        assert sketch.interface.parameters == () or name == "twelve"


@pytest.mark.parametrize("name", QUICK)
def test_what_a_plugin_is_given_means_what_the_case_means(name: str) -> None:
    for case in chosen(name, 3):
        held = {key: tensor.clone() for key, tensor in case.parameters.items()}
        found = interpret(parse(sketch_given(case).text), case.inputs, held)
        compare_all((found.outputs, held), Run(case).go(), case.tolerance)


def test_the_reference_has_the_parameters_and_nothing_else() -> None:
    case = next(case for case in cases.family("twelve") if case.name == "layer_norm")
    names: dict = {}
    exec(reference_of(case), names)
    state = names["Model"]().state_dict()
    assert {name: tuple(tensor.shape) for name, tensor in state.items()} == {
        "norm.weight": (7, 37),
        "norm.bias": (7, 37),
    }


def test_dtypes_are_those_that_the_text_names() -> None:
    text = '@kernel\ndef k(x: In["f16", 4], y: Out["f32", 4]):\n    n = whole(4)\n    store(y[n], i8(load(x[n])))\n'
    assert dtypes_of(Case("k", text, [])) == {"f16", "f32", "i8"}


def test_a_wrong_answer_is_found_and_a_right_one_is_not(tmp_path) -> None:
    folder = tmp_path / "drawn"
    folder.mkdir()
    drawn = jobs.draw_job({"family": "hints", "most": 2, "folder": str(folder)})["trials"]
    right, wrong = (trial["name"] for trial in drawn)
    for name, lift in ((right, 0.0), (wrong, 0.01)):
        case = next(case for case in cases.family("hints") if name.startswith(case.name))
        outputs, _ = Run(case).go()
        save(tmp_path / name, {"result": outputs[0] + lift * outputs[0].abs().max(), "changed": {}})
    said = jobs.compare_job({"outputs": {name: str(tmp_path / name) for name in (right, wrong, right)}})["wrong"]
    assert list(said) == [wrong] and "output 0: " in said[wrong]


@pytest.mark.parametrize(
    ("result", "said"),
    [
        ([torch.zeros(13), torch.zeros(13)], "2 results where 1 are due"),
        (None, "something else than tensors"),
        (torch.zeros(13, 1), "output 0"),
        (torch.zeros(13, dtype=torch.float64), "output 0"),
    ],
)
def test_what_is_no_answer_is_wrong(result, said, tmp_path) -> None:
    (tmp_path / "drawn").mkdir()
    jobs.draw_job({"family": "hints", "most": 2, "folder": str(tmp_path / "drawn")})
    save(tmp_path / "answer", {"result": result, "changed": {}})
    name = "persistent_rows_dynamic"
    assert said in jobs.compare_job({"outputs": {name: str(tmp_path / "answer")}})["wrong"][name]
    assert name in jobs.compare_job({"outputs": {name: str(tmp_path / "nowhere")}})["wrong"]


def test_a_launch_is_done_by_whoever_says_so() -> None:
    case = next(cases.family("hints"))

    class Halved(Run):
        def execute(self, launched: Launched) -> None:
            launched.interpret()
            launched.tensors["y"].mul_(0.5)

    (found,), (due,) = Halved(case).go()[0], Run(case).go()[0]
    assert torch.equal(found, due * 0.5) and launched_sizes(case) == {"M": 70, "K": 40, "N": 50}


def launched_sizes(case: Case) -> dict[str, int]:
    found: dict[str, int] = {}

    class Noting(Run):
        def execute(self, launched: Launched) -> None:
            found.update(launched.sizes)

    Noting(case).go()
    return found


def test_what_is_refused_is_told_with_its_reason(pool) -> None:
    (outcome,) = conform("toy", pool=pool, only="emission and dots").outcomes
    assert (outcome.status, outcome.test) == ("passed", "emission keeps to sketches (dots)")
    assert outcome.refused == ("dot_bf16: akg_plugin_info names no bf16.",)


def test_what_is_refused_is_listed_and_counted(capsys) -> None:
    outcomes = [Outcome(level="emission", test="of it", status="passed", refused=("a: No scans.", "b: No bools."))]
    found = Conformity(
        plugin="p", distribution="d", version="1", levels=grade(outcomes, "device"), outcomes=tuple(outcomes)
    )
    with ConformanceReport(as_json=False) as report:
        report(outcomes[0])
    said = capsys.readouterr().out
    assert "refused a: No scans." in said and "refused b: No bools." in said
    assert [line.split(" | ")[5] for line in markdown([found])[2:]] == ["0", "0", "2", "0"]
