"""References with many cases become a file for each kernel that these ask for."""

from __future__ import annotations

import json

import pytest

from akg_core.bench import runner
from akg_core.bench.cases import apart, by_kernel, rest
from akg_core.bench.results import Row
from akg_core.bench.suite import Problem
from akg_core.errors import UsageError
from akg_core.task.capture import capture_file
from akg_core.task.source.load import load_source, read

REFERENCE = """import json
import os
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, y, alpha, dim):
        return (x + alpha * y).sum(dim)


def get_input_groups():
    groups = []
    with open(os.path.join(os.path.dirname(__file__), "add.json")) as f:
        cases = [json.loads(line) for line in f if line.strip()]
    for case in cases:
        x, y, alpha, dim = case["inputs"]
        made = [torch.randn(each["shape"], dtype=getattr(torch, each["dtype"])) for each in (x, y)]
        groups.append([*made, alpha["value"], dim["value"]])
    return groups


def get_init_inputs():
    return []
"""


def case(x: list[int], y: list[int], dtype: str = "float32", alpha: float = 0.5, dim: int = 0) -> str:
    tensors = [{"name": n, "type": "tensor", "dtype": dtype, "shape": s} for n, s in (("x", x), ("y", y))]
    values = [{"name": n, "type": "attr", "dtype": "", "value": v} for n, v in (("alpha", alpha), ("dim", dim))]
    return json.dumps({"inputs": [*tensors, *values]})


@pytest.fixture
def kernels(tmp_path):
    """Write the cases beside the reference; what comes of them."""

    def write(*cases: str) -> list[Problem]:
        (tmp_path / "add.py").write_text(REFERENCE)
        (tmp_path / "add.json").write_text("\n".join(cases) + "\n\n")
        return by_kernel(Problem("add", tmp_path / "add.py", "level0"), tmp_path / "made")

    return write


def test_sizes_and_floats_make_no_other_kernel(kernels):
    (only,) = kernels(case([64, 8], [64, 8]), case([4, 8], [4, 8], alpha=0.25), case([1, 8], [1, 8]))
    assert (only.name, only.group) == ("add", "level0")
    reference = load_source(read(only.path), "add")
    assert [tuple(each.shape) for each in reference.inputs()[:2]] == [(4, 8), (4, 8)]
    assert [case[0].shape[0] for case in reference.input_lists()] == [4, 64, 1]
    task = capture_file(only.path)
    x, _, alpha, dim = task.interface.arguments
    assert list(map(type, x.shape)) == [str, int] and alpha.kind == "number" and dim.kind == "constant"


@pytest.mark.parametrize(
    "other",
    [
        case([4, 8], [4, 8], dtype="float16"),
        case([4, 8], [1, 8]),
        case([4, 8], [8]),
        case([4, 8], [4, 8], dim=1),
    ],
    ids=["dtype", "broadcasting", "rank", "option"],
)
def test_anything_else_does(kernels, other):
    found = kernels(case([4, 8], [4, 8]), other, case([2, 8], [2, 8]))
    assert [problem.name for problem in found] == ["add", "add-2"]
    assert [len(load_source(read(problem.path), problem.name).input_lists()) for problem in found] == [2, 1]


def test_cases_that_cannot_be_read_are_named(kernels):
    with pytest.raises(UsageError, match=r"The cases of add cannot be read"):
        kernels("{}")


def test_a_last_line_without_an_end_is_a_case_like_any_other(kernels, tmp_path):
    (large,) = kernels(case([4, 6], [4, 6]), case([2, 3], [2, 3]))
    (tmp_path / "add.json").write_text((tmp_path / "add.json").read_text().rstrip())
    made = load_source(read(large.path), "add")
    assert [list(x.shape) for x, *_ in made.input_lists()] == [[2, 3], [4, 6]]


def test_the_first_kernels_of_a_task_may_be_all_that_is_run(tmp_path):
    from akg_core.cli.bench import Tasks

    folder = tmp_path / "reference" / "npukernelbench_level0"
    folder.mkdir(parents=True)
    (folder / "add.py").write_text(REFERENCE)
    (folder / "add.json").write_text("\n".join(case([2, 3], [2, 3], dtype) for dtype in ("float32", "float16")))
    asked = {"what": ["npukernelbench"], "root": tmp_path, "folder": tmp_path / "runs"}
    assert [one.name for one in Tasks(**asked).found()[1]] == ["add", "add-2"]
    assert [one.name for one in Tasks(**asked, kernels=1).found()[1]] == ["add"]


def test_sizes_on_which_the_cases_agree_are_made_smaller_in_all_of_them(kernels):
    (only,) = kernels(case([4, 512], [4, 512]), case([64, 512], [64, 512]))
    task = capture_file(only.path, work=1 << 10)
    assert [argument.shape for argument in task.interface.arguments[:2]] == [("s0", 32)] * 2
    assert task.cases == ({"s0": 4}, {"s0": 64}) and not task.refused
    assert [case[0].shape[1] for case in load_source(task.source, "add").input_lists()] == [32, 32]
    assert task.notes[0] == "Sizes: dim 1 of x and dim 1 of y 512 -> 32."


def test_sizes_on_which_they_do_not_agree_are_made_smaller_in_the_small_one(kernels):
    (only,) = kernels(case([512, 64], [512, 64]), case([768, 80], [768, 80]))
    task = capture_file(only.path, work=1 << 10)
    x = task.interface.arguments[0]
    assert x.shape == ("s0", "s1") and task.symbols == {"s0": 16, "s1": 8}
    assert task.cases == ({"s0": 512, "s1": 64}, {"s0": 768, "s1": 80})


def test_what_a_kernel_refuses_is_a_file_like_it_until_nothing_is_left(kernels):
    (first,) = kernels(case([4, 8], [4, 8]), case([0, 8], [0, 8]), case([64, 8], [64, 8]), case([0, 9], [0, 9]))
    task = capture_file(first.path)
    assert task.refused == (2, 3)
    (one,) = rest(first, task.refused)
    assert (one.name, one.path.stem, one.group) == ("add-rest1", "add-rest1", "level0")
    lists = load_source(read(one.path), "rest").input_lists()
    assert [tuple(x.shape) for x, *_ in lists] == [(0, 8), (0, 9)]
    (two,) = rest(one, (1,))
    assert two.name == "add-rest2" and rest(two, ()) == [] == rest(two, (0,)), "one case is not parted"
    alone, others = rest(first, (0, 1, 2, 3))
    assert (alone.name, others.name) == ("add-rest1", "add-rest2")
    assert alone.cases == first.cases[:1] and others.cases == first.cases[1:]
    assert [each.name for each in rest(others, (0, 1, 2))] == ["add-rest3", "add-rest4"]


def test_integers_and_dims_that_no_kernel_serves_together_get_one_each(kernels):
    (only,) = kernels(case([4, 8], [4, 8], dim=2), case([4, 8], [4, 8], dim=3), case([4, 1, 8], [4, 1, 8], dim=3))
    assert [tuple(x.shape) for x, *_ in [load_source(read(only.path), "add").inputs()]] == [(4, 2, 8)], (
        "2 can be traced"
    )
    assert [(each.name, each.cases) for each in apart(only)] == [
        ("add-apart1", (2,)),
        ("add-apart2", (0,)),
        ("add-apart3", (1,)),
    ]
    assert apart(apart(only)[0]) == []


def test_a_first_case_that_the_reference_cannot_take_is_parted_from_the_others(kernels):
    (only,) = kernels(*(case([n, 8], [n, 8]) for n in (4, 5, 6)))
    row = Row(name="add", group="level0", status="failed", digest="", captured=True)
    for reason, parted in (
        (
            "add, line 9: forward raises IndexError: index 7 is out of bounds. Mend the file.",
            ["add-rest1", "add-rest2"],
        ),
        ("add: the reference did not run. The process crashed.", ["add"]),
    ):
        problems = [only]
        found = runner._add_rest(problems, [only], {only: row.model_copy(update={"reason": reason})})
        assert [each.name for each in problems] == parted
        assert [each.cases for each in found] == ([(0,), (1, 2)] if len(parted) > 1 else [])
