"""Rows that programs fill and then update, where an update is of its place's row."""

from __future__ import annotations

import pytest

from akg_core.design import variant
from akg_core.design.policy import Policy
from akg_core.records import Traits
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from tests.design.judging import HELD, SMALL, designed, forward, judge, reference

FLAT = "torch.randn(40, 9), torch.randint(0, 9, (40, 70)), torch.randn(40, 80)"
LONG = "torch.randn(33, 200), torch.randint(0, 200, (33, 20)), torch.randn(33, 20)"
DEEP = "torch.randn(6, 8, 9), torch.randint(0, 9, (6, 8, 14)), torch.randn(6, 8, 14)"
PLANES = "torch.randn(40, 5, 3), torch.randint(0, 5, (40, 7, 3)), torch.randn(40, 7, 3)"
NAMED = "torch.randn(40, 9, 3), torch.randint(0, 9, (12,)), torch.randn(40, 12, 3)"
BY_ROWS = [
    ("x.scatter_add(1, y, z)", FLAT), ("x.scatter_add(-1, y, z)", LONG), ("x.scatter_add(2, y, z)", DEEP),
    ("x.scatter_add(1, y, z)", PLANES), ("x.index_add(1, y, z)", NAMED),
    ("torch.relu(x - 1).scatter_add(1, y, z * 2)", FLAT), ("torch.zeros_like(x).scatter_add(1, y, z)", FLAT),
    ("(x * x[:, :1]).scatter_add(1, y, z * x[:, 1:2])", LONG), ("x.scatter_add(1, y, torch.softmax(z, 1))", FLAT),
    ("x[0].expand(40, 9).scatter_add(1, y, z)", FLAT), ("x.scatter_add(1, y[:, :1].expand(40, 70), z)", FLAT),
    ("x.half().scatter_add(1, y, z.half())", FLAT), ("x.double().scatter_add(1, y, z.double())", FLAT),
    ("(x * 9).long().scatter_add(1, y, (z * 9).long())", FLAT),
    ("(x * 9).int().scatter_add(1, y, (z * 9).int())", FLAT),
    ("x.scatter_add(1, y, z).relu() + x", FLAT), ("(x + 1, x.scatter_add(1, y, z))", FLAT),
    ("x.scatter_add(1, y, z).scatter_add(1, y // 2, z)", FLAT), ("x.scatter(1, y, z)", FLAT),
    *((f"x.scatter_reduce(1, y, z, '{k}', include_self={s})", FLAT)
      for k in ("sum", "mean", "amax", "amin") for s in (True, False)),
    ("x.transpose(0, 1).scatter_add(0, y.t(), z.t())", FLAT),
    ("(x.scatter_add(1, y, z[:, :70]), torch.relu(z[:, :70]) * 2, z[:, :70] + y)", FLAT),
    ("x.scatter_add(1, y, z).sum(1)", FLAT), ("(x * 2).scatter_add(1, y, z) * x.sum(1, keepdim=True)", FLAT),
]  # fmt: skip
APART = [
    ("x.scatter_add(0, y[:33, :9] % 33, z[:, :9])", LONG),  # columns
    ("x.index_add(0, y, z)", "torch.randn(40, 9), torch.randint(0, 40, (60,)), torch.randn(60, 9)"),
    ("x[:2].scatter_add(1, y[:2], z[:2])", FLAT),  # few rows
    ("x.scatter_add(1, y[:20], z)", FLAT),  # rows without updates
    ("torch.softmax(x, 1).scatter_add(1, y, z)", FLAT),  # what makes the base stores it
    ("torch.zeros(40).index_add(0, y[:, 0], z[:, 0])", FLAT),  # no rows
]


@pytest.mark.parametrize("traits", [SMALL, HELD], ids=["one by one", "at once"])
@pytest.mark.parametrize(("line", "inputs"), BY_ROWS + APART)
def test_scattered_rows(line: str, inputs: str, traits: Traits) -> None:
    judge(reference(forward(line, "x, y, z"), f"[{inputs}]"), traits=traits)


def by_rows(line: str, inputs: str, traits: Traits) -> bool:
    """Whether a kernel updates what it stores."""
    text = designed(reference(forward(line, "x, y, z"), f"[{inputs}]"), traits)
    return any("atomic" in kernel and "store(" in kernel for kernel in text.split("@")) and "InOut" not in text


@pytest.mark.parametrize(("line", "inputs"), BY_ROWS[:9])
def test_a_program_fills_the_rows_that_it_updates(line: str, inputs: str) -> None:
    assert by_rows(line, inputs, SMALL) and by_rows(line, inputs, HELD)


@pytest.mark.parametrize(("line", "inputs"), APART)
def test_where_a_kernel_before_fills(line: str, inputs: str) -> None:
    assert not by_rows(line, inputs, SMALL)


def test_rows_by_the_chip() -> None:
    line, dims = "x.scatter_add(1, y, z)", FLAT.replace("40", "31")
    assert by_rows(line, FLAT, HELD), "eight programs a unit"
    assert not by_rows(line, dims, HELD) and by_rows(line, dims, SMALL)
    assert not by_rows(line, FLAT, HELD.model_copy(update={"co_resident": 0})), "nothing orders memory between threads"
    assert by_rows(line, LONG, SMALL) and not by_rows(line, LONG, HELD.model_copy(update={"on_chip_bytes": 2048}))


def test_a_variant_is_as_the_first_one_is_not() -> None:
    task = capture(load_source(reference(forward("x.scatter_add(1, y, z)", "x, y, z"), f"[{FLAT}]"), "reference"))
    texts = [variant(task, SMALL, Policy(split=split)).text for split in (None, False, True)]
    assert [text.count("@kernel") for text in texts] == [1, 1, 2]


def test_rows_of_a_varying_number_and_length() -> None:
    line = "x.scatter_add(1, (x.abs() * 100).long() % x.shape[1], x * 2)"
    source = reference(forward(line), "[torch.randn(40, 70)]")
    for traits in (SMALL, HELD):
        found = judge(source, traits=traits, dynamic=True)
        assert found.kernels[0] == 1 and "tiles(s1, " in found.sketches[0].text
    # of one symbol for the rows of the base and another for those of places, the latter may be fewer
    judge(reference(forward("x.scatter_add(1, y, z)", "x, y, z"), f"[{FLAT}]"), traits=HELD, dynamic=True)


def test_a_kernel_of_rows() -> None:
    text = designed(reference(forward("x.scatter_add(1, y, z * x[:, :1])", "x, y, z"), f"[{LONG}]"), HELD)
    assert text.startswith("""\
@kernel
def scatter_add(x: In["f32", 33, 200], y: In["i64", 33, 20], z: In["f32", 33, 20], out: Out["f32", 33, 200],
                BK: Tune[4, 8, 16, 32, 64] = 16):
    for m in grid(33, 1, warps=Tune[1, 2]):
        x_t = load(x[m, 0])
        for n in tiles(200, 64):
            store(out[m, n], load(x[m, n]))
        for k in tiles(20, BK):
            atomic_add(out[m, load(y[m, k])], load(z[m, k]) * x_t)
""")
