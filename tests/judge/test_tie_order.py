"""What depends on which of equal values comes first is found, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from akg_core.judge.reference.answering import _open
from akg_core.judge.reference.prepare import prepare
from akg_core.judge.reference.tie_order import TieOrder, leaves_open, open_to_ties, runs
from akg_core.records import Task
from akg_core.worker.pool import Pool

TIED = torch.tensor([[1.0, 3.0, 2.0, 3.0, 3.0, 0.0]])
ZERO, TWICE = torch.tensor([0]), torch.tensor([0, 0, 1, 1])
PLACES: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], list[int], list[int]]] = {
    "topk": (lambda x: x.topk(2).indices, [1, 3], [4, 3]),
    "least": (lambda x: (-x).topk(4, largest=False).indices, [1, 3, 4, 2], [4, 3, 1, 2]),
    "sort": (lambda x: x.sort().indices, [5, 0, 2, 1, 3, 4], [5, 0, 2, 4, 3, 1]),
    "argsort": (lambda x: x.argsort(descending=True), [1, 3, 4, 2, 0, 5], [4, 3, 1, 2, 0, 5]),
    "stable": (lambda x: x.sort(stable=True).indices, [5, 0, 2, 1, 3, 4], [5, 0, 2, 1, 3, 4]),
    "written": (lambda x: torch.zeros(1, 3).long().index_put((ZERO, TWICE), torch.arange(4)), [0, 2, 0], [1, 3, 0]),
    "copied": (lambda x: torch.zeros(1, 3).long().index_copy_(1, TWICE, torch.arange(4)[None]), [0, 2, 0], [1, 3, 0]),
    "scattered": (lambda x: torch.zeros(3).long().scatter(0, TWICE, torch.arange(9)), [0, 2, 0], [1, 3, 0]),
    "added": (lambda x: torch.zeros(3).long().index_put((TWICE,), torch.arange(4), True), [1, 5, 0], [1, 5, 0]),
    "argmax": (lambda x: x.argmax(1), [1], [1]),
}


@pytest.mark.parametrize("name", PLACES)
def test_both_orders_of_equal_values(name: str) -> None:
    search, *due = PLACES[name]
    for last, places in zip((False, True), due, strict=True):
        with TieOrder(last):
            found = search(TIED)
        assert found.flatten().tolist() == places


@pytest.mark.parametrize("name", ["kthvalue", "median", "mode"])
def test_a_pick_is_of_the_same_value(name: str) -> None:
    x = torch.randint(0, 3, (40, 9)).float()
    pick = {"kthvalue": lambda: x.kthvalue(4, 1), "median": lambda: x.median(1), "mode": lambda: x.mode(1)}[name]
    for last in (False, True):
        with TieOrder(last):
            values, places = pick()
        assert torch.equal(values, pick().values)
        assert torch.equal(x.gather(1, places[:, None])[:, 0], values)


def test_only_what_depends_on_the_order_is_open() -> None:
    x = torch.cat([TIED, torch.tensor([[5.0, 4.0, 3.0, 2.0, 1.0, 0.0]])])

    def answer() -> dict[str, torch.Tensor]:
        values, places = x.topk(2)
        return {"values": values, "kept": torch.zeros_like(x).scatter(1, places, 1.0)}

    found = open_to_ties(runs(answer))
    assert list(found) == ["kept"]
    assert found["kept"].tolist() == [[False, True, False, True, True, False], [False] * 6], "any two of three"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_mask_of_the_first_of_equal_values_is_open(dtype: torch.dtype) -> None:
    x = torch.full((2, 8), float("nan"), dtype=dtype)

    def answer() -> dict[str, torch.Tensor]:
        return {"mask": torch.zeros_like(x).scatter(1, x.topk(4).indices, 1.0)}

    assert bool(open_to_ties(runs(answer))["mask"].all())


def test_sums_in_another_order_are_not_open() -> None:
    x, y = torch.randint(0, 3, (4, 64)).float(), torch.randn(64)
    assert not open_to_ties(runs(lambda: {"sum": y[x.sort().indices].cumsum(1)[:, -1]}))


def test_whole_numbers_of_places_that_are_equal_in_float64_alone_are_open() -> None:
    """Eager may tell such values apart by its rounding, and a kernel need not follow."""
    eager = {"places": torch.tensor([[1, 4, 3]]), "values": torch.ones(1, 3)}
    task = SimpleNamespace(interface=SimpleNamespace(parameters=()))
    reference = SimpleNamespace(model=nn.Module(), task=task, unsettled={})

    def opened(exactly: Callable[[], dict[str, torch.Tensor]] | None) -> dict[str, torch.Tensor]:
        return _open(reference, SimpleNamespace(name="drawn"), eager, lambda: (0.0, eager), {}, exactly)

    assert not opened(None)
    found = opened(lambda: {"places": TIED.double().topk(4).indices[:, 1:], "values": torch.rand(1, 3)})
    assert list(found) == ["places"]
    assert found["places"].tolist() == [[True, True, False]], "the fourth is no tie"


GATE = """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x).scatter(1, torch.topk(x, 2).indices, 1.0)


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""


def test_the_verdict_says_what_was_not_counted(pool: Pool, capture: Callable[..., Task], tmp_path: Path) -> None:
    task = capture(GATE.format(inputs="torch.randn(13, 9)"))
    assert leaves_open(task.graph)
    with prepare(pool, task, tmp_path / "prepared") as prepared:
        ready = prepared.ready()
    assert any("which of equal values comes first" in note for note in ready.notes)
    assert not ready.missing


def test_an_output_that_is_all_ties_is_no_case(pool: Pool, capture: Callable[..., Task], tmp_path: Path) -> None:
    task = capture(GATE.format(inputs="torch.ones(13, 4)"))
    with prepare(pool, task, tmp_path / "prepared") as prepared:
        assert "depends on which of equal values" in " ".join(prepared.ready().missing)


def test_writes_of_many_threads_to_the_same_places_are_open(
    pool: Pool, capture: Callable[..., Task], tmp_path: Path
) -> None:
    line = "return torch.zeros_like(x).scatter(1, torch.topk(x, 2).indices, 1.0)"
    twice = "torch.randn(64, 1024), torch.arange(2048) % 8, torch.randn(2048, 1024)"
    written = GATE.replace("forward(self, x)", "forward(self, x, i, v)").replace(line, "x[i] = v\n        return x")
    task = capture(written.format(inputs=twice))
    assert leaves_open(task.graph)
    with prepare(pool, task, tmp_path / "prepared") as prepared:
        ready = prepared.ready()
    assert any("which of several writes to a place stays" in note for note in ready.notes)
    assert not ready.random  # though threads race


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64])
@pytest.mark.parametrize(("shape", "dim"), [((7, 40), 1), ((40,), 0), ((3, 50, 5), 1), ((2, 3, 33), -1)])
def test_the_first_few_are_those_of_the_whole_order(
    shape: tuple[int, ...], dim: int, dtype: torch.dtype, largest: bool
) -> None:
    draw = torch.Generator().manual_seed(len(shape))
    for distinct in (1, 3, 12, 1000):
        x = torch.randint(distinct, shape, generator=draw).to(dtype)
        if dtype.is_floating_point and distinct > 3:
            x.view(-1)[torch.randint(x.numel(), (3,), generator=draw)] = torch.nan
            x[x == 0] = -0.0
        wanted = x.sort(dim=dim, descending=largest, stable=True)
        for k in (1, 2, 5, 8, 20):
            with TieOrder(False):
                values, places = x.topk(k, dim, largest)
            assert torch.equal(places, wanted.indices.narrow(dim, 0, k))
            torch.testing.assert_close(values, wanted.values.narrow(dim, 0, k), rtol=0, atol=0, equal_nan=True)
