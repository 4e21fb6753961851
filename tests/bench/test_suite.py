"""Which tasks a benchmark runs."""

from __future__ import annotations

import pytest

from akg_core.bench import suite
from akg_core.errors import UsageError


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "KernelBench" / "level1"
    folder.mkdir(parents=True)
    for name in ("1_Square.py", "2_Relu.py", "10_Sum.py", "notes.py"):
        (folder / name).write_text("")
    return tmp_path


def test_problems_come_in_the_order_of_their_numbers(checkout):
    assert [problem.name for problem in suite.kernelbench(checkout, 1)] == ["1_Square", "2_Relu", "10_Sum"]
    assert suite.kernelbench(checkout / "KernelBench", 1) == suite.kernelbench(checkout, 1)


def test_some_can_be_picked(checkout):
    assert [problem.name for problem in suite.kernelbench(checkout, 1, "1-2,10")] == ["1_Square", "2_Relu", "10_Sum"]
    assert [problem.name for problem in suite.kernelbench(checkout, 1, " 10 ")] == ["10_Sum"]


@pytest.mark.parametrize(
    ("level", "wanted", "said"),
    [
        (2, "", "no level2"),
        (1, "3", "no problem 3"),
        (1, "2-1", "'2-1' is no"),
        (1, "1,,2", "'' is no"),
        (1, "x", "'x'"),
    ],
)
def test_what_is_not_there_is_named(checkout, level, wanted, said):
    with pytest.raises(UsageError, match=said):
        suite.kernelbench(checkout, level, wanted)


def test_files_are_grouped_by_their_folders(tmp_path):
    for name in ("norm/rms.py", "norm/__init__.py", "scan/sum.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    found = suite.files([tmp_path, tmp_path / "scan" / "sum.py"])
    assert [(p.group, p.name) for p in found] == [("norm", "rms"), ("scan", "sum"), ("scan", "sum")]
    with pytest.raises(UsageError, match="no reference file"):
        suite.files([tmp_path / "nothing.py"])


@pytest.fixture
def categories(tmp_path):
    for name in ("loss/mse.py", "loss/l1.py", "math/cumsum.py", "npukernelbench_level0/10_b.py"):
        (tmp_path / "reference" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "reference" / name).write_text("")
    (tmp_path / "reference" / "npukernelbench_level0" / "2_a.py").write_text("")
    return tmp_path


def test_categories_are_groups(categories):
    found = [(problem.group, problem.name) for problem in suite.multikernelbench(categories)]
    assert found == [("loss", "l1"), ("loss", "mse"), ("math", "cumsum")]
    assert suite.multikernelbench(categories / "reference") == suite.multikernelbench(categories)
    assert [problem.name for problem in suite.multikernelbench(categories, "math, l1")] == ["l1", "cumsum"]


def test_levels_are_groups_in_the_order_of_their_numbers(categories):
    found = [(problem.group, problem.name) for problem in suite.npukernelbench(categories)]
    assert found == [("level0", "2_a"), ("level0", "10_b")]


def test_a_category_that_is_not_there_is_named(categories, tmp_path):
    with pytest.raises(UsageError, match="'softmax'"):
        suite.multikernelbench(categories, "loss,softmax")
    with pytest.raises(UsageError, match="no such tasks"):
        suite.multikernelbench(tmp_path / "reference" / "loss")
