"""Positions read from tensors that are written: scatter, index_put and their like, bags, segments, histograms."""

from __future__ import annotations

import pytest

from akg_core.design import variant
from akg_core.design.operators import scatters
from akg_core.design.policy import Policy
from akg_core.errors import UnsupportedOperator
from akg_core.records import Traits
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from tests.design.judging import HELD, SMALL, designed, forward, judge, reference

ROWS = "torch.randn(10, 6), torch.randint(-10, 10, (24,)), torch.randn(24, 6)"
PICKED = "torch.randn(10, 6), torch.randint(0, 10, (24,)), torch.randn(24, 6)"
SPARSE = "torch.randn(5, 9), torch.randint(0, 9, (4, 14)), torch.randn(5, 20)"
CACHE = "torch.randn(2, 3, 16, 4), torch.tensor([5, 9]), torch.randn(2, 3, 2, 4)"
WRITTEN = [
    ("x.index_put((y,), z)", ROWS), ("x.index_put((y,), z, accumulate=True)", ROWS), ("x.index_copy(0, y, z)", PICKED),
    ("x.index_put((y, y % 6), z[:, 0], accumulate=True)", ROWS), ("x.index_add(0, y, z, alpha=0.5)", PICKED),
    ("x.transpose(0, 1).index_put((torch.arange(6)[:, None], y), z.t())", ROWS), ("x.index_fill(0, y, 3.0)", PICKED),
    ("x[:, None].index_put((y, torch.zeros_like(y)), z)", ROWS), ("x.clone().index_put_((y,), z[0])", ROWS),
    ("x.long().index_add(0, y, z.long())", PICKED), ("x.int().index_add(0, y, z.int()) + 1", PICKED),
    ("x.half().index_add(0, y, z.half())", PICKED), ("torch.relu(x.index_add(0, y, z)).sum(1)", PICKED),
    ("x.index_copy(2, y, z)", CACHE), ("x.index_copy(2, y[:1], z[:, :, :1]).sum(-1)", CACHE),
    ("x.index_put((torch.arange(2)[:, None], torch.arange(3), y[:, None]), z[:, :, 0])", CACHE),
    ("x.scatter(1, y, z)", SPARSE), ("x.scatter(1, y, 2.0)", SPARSE), ("x.scatter(0, y[:, :9] % 5, z[:, :9])", SPARSE),
    ("x.scatter(1, y, z, reduce='add')", SPARSE), ("x.scatter(1, y, z, reduce='multiply')", SPARSE),
    ("x.scatter(1, y[:, :1], 2.0, reduce='multiply')", SPARSE),
    ("x.scatter_add(1, y, z)", SPARSE), ("x.bfloat16().scatter_add(1, y, z.bfloat16())", SPARSE),
    ("torch.zeros_like(x).scatter_(1, y, 1.0)", SPARSE), ("x.put(y, z[:4, :14], accumulate=True)", SPARSE),
    ("(x > 0).scatter(1, y, False)", SPARSE), ("x.diagonal_scatter(z[0, :5], 1)", SPARSE),
    *((f"x.scatter_reduce(1, y, z, '{k}', include_self={s})", SPARSE)
      for k in ("sum", "prod", "mean", "amax", "amin") for s in (True, False)),
    ("(x * 1e-30).scatter_reduce(1, y, z.sign() * 1e20, 'prod')", SPARSE),  # 1e-30, and then 1e-10, 1e10, 1e30
    *((f"x.index_reduce(0, y, z, '{k}')", PICKED) for k in ("prod", "mean", "amax")),
    ("x.long().scatter_reduce(1, y, z.long(), 'amax')", SPARSE),
    *((f"(x > 0).scatter_reduce(1, y, z > 0, '{k}', include_self=False)", SPARSE) for k in ("sum", "prod")),
    ("x.index_put((torch.zeros(24, dtype=torch.long),), z)", ROWS), ("x.scatter(0, 0 * y[:, :9], z[:, :9])", SPARSE),
    ("x.index_put((torch.zeros(24, dtype=torch.long),), z, accumulate=True)", ROWS),
    ("torch.zeros(3).index_add(0, torch.zeros(6, dtype=torch.long), torch.ones(6))", ROWS),
]  # fmt: skip
MASKED = [
    "x.masked_scatter(y > 4, z)", "x.masked_scatter(y[:1] > 4, z)", "x.index_put((y > 4,), z[0, 0])",
    "x.index_put((y[:, 0] > 4,), z[0, :9])", "x.index_put((y > 4,), z[:1, 0], accumulate=True)",
]  # fmt: skip
BAG = "torch.randn(11, 6), torch.randint(0, 11, (90,)), torch.tensor([0, 4, 4, 11, 70, 71]), torch.rand(90)"
BAGS = [
    *(f"F.embedding_bag(y, x, z, mode='{m}')" for m in ("sum", "mean", "max")),
    "F.embedding_bag(y, x, z, mode='sum', per_sample_weights=w)",
    "F.embedding_bag(y[:71], x, z, include_last_offset=True)",
    "F.embedding_bag(y, x, z, padding_idx=3)",
    *(f"F.embedding_bag(y.reshape(9, 10), x, mode='{m}', padding_idx=3)" for m in ("sum", "mean", "max")),
    "F.embedding_bag(y.reshape(9, 10), x, mode='sum', per_sample_weights=w.reshape(9, 10))",
]  # fmt: skip
SEGMENTS = [
    *(f"torch.segment_reduce(x, '{k}', lengths=y)" for k in ("sum", "mean", "max", "min", "prod")),
    "torch.segment_reduce(x[:, 0], 'sum', lengths=y, initial=2.0)",
    "torch.segment_reduce(x, 'max', offsets=torch.cat([y.new_zeros(1), y.cumsum(0)]))",
]
LENGTHS = "torch.randn(60, 4), torch.tensor([20, 0, 1, 39])"
COUNTED = [
    "torch.repeat_interleave(x, torch.arange(x.shape[0]), 0, output_size=x.shape[0] * (x.shape[0] - 1) // 2)",
    "torch.histogram(x, 8, range=(-1.0, 1.0), density=True)", "torch.histogram(x, 6)",
    "torch.histogram(x, torch.tensor([-1.5, 0.0, 0.5, 2.0]), weight=x.abs())",
    "torch.histc(x, 8, -1, 1)", "torch.histc(x, 16)", "F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)",
]  # fmt: skip


@pytest.mark.parametrize(("line", "inputs"), WRITTEN)
def test_written_at_places(line: str, inputs: str) -> None:
    judge(reference(forward(line, "x, y, z"), f"[{inputs}]"))


@pytest.mark.parametrize("line", MASKED)
def test_written_where_a_mask_says(line: str) -> None:
    judge(reference(forward(line, "x, y, z"), "[torch.randn(5, 9), torch.randint(0, 9, (5, 9)), torch.randn(5, 20)]"))


@pytest.mark.parametrize("traits", [SMALL, HELD], ids=["row by row", "at once"])
@pytest.mark.parametrize("line", BAGS)
def test_bags(line: str, traits: Traits) -> None:
    judge(reference(forward(line, "x, y, z, w"), f"[{BAG}]"), traits=traits)


@pytest.mark.parametrize("traits", [SMALL, HELD], ids=["row by row", "at once"])
@pytest.mark.parametrize("line", SEGMENTS)
def test_segments(line: str, traits: Traits) -> None:
    judge(reference(forward(line, "x, y"), f"[{LENGTHS}]"), traits=traits)


@pytest.mark.parametrize("line", [*SEGMENTS, "torch.segment_reduce(x, 'mean', lengths=y, initial=2.0)"])
def test_long_segments_are_joined_by_many_programs(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scatters, "_LONG_SEGMENT", 5)
    judge(reference(forward(line, "x, y"), f"[{LENGTHS}]"))


ADDED = [(line, inputs) for line, inputs in WRITTEN if "add" in line or "accumulate" in line or "'sum'" in line]


@pytest.mark.parametrize(("line", "inputs"), [*ADDED, ("x.index_put((y, y % 6), z[:, 0], accumulate=True)", ROWS)])
def test_floats_are_added_in_the_same_order_where_that_is_asked_for(line: str, inputs: str) -> None:
    found = judge(reference(forward(line, "x, y, z"), f"[{inputs}]"), repeatable=True)
    whole = "x.long()" in line or "x.int()" in line
    assert all(("atomic_add" in sketch.text) == whole for sketch in found.sketches), "whole numbers have any order"


def test_segments_and_counts_in_the_same_order() -> None:
    lines = [("torch.segment_reduce(x, 'sum', lengths=y)", LENGTHS)]
    lines += [("torch.bincount(y % 9, x[:, 0], 9)", "torch.randn(60, 4), torch.randint(0, 9, (60,))")]
    for line, inputs in lines:
        found = judge(reference(forward(line, "x, y"), f"[{inputs}]"), repeatable=True)
        assert not any("atomic" in sketch.text for sketch in found.sketches)


def test_a_segment_is_one_programs() -> None:
    text = designed(reference(forward(BAGS[0], "x, y, z, w"), f"[{BAG}]"))
    assert "atomic" not in text and text.count("@kernel") == 1 and "start=load(" in text


@pytest.mark.parametrize("line", COUNTED)
def test_counted(line: str) -> None:
    judge(reference(forward(line), "[torch.randn(2, 3, 6, 8)]"))


def test_passing_messages_along_the_edges_of_a_graph() -> None:
    body = """
    def forward(self, score, to, x):
        peak = torch.full((10,), -math.inf).scatter_reduce(0, to, score, 'amax')
        weight = torch.exp(score - peak[to])
        weight = weight / torch.zeros(10).index_add(0, to, weight)[to]
        return torch.zeros(10, 6).index_add(0, to, weight[:, None] * x[to])"""
    judge(reference(body, "[torch.randn(30), torch.randint(0, 10, (30,)), torch.randn(10, 6)]"))


def test_zeros_that_are_added_to_are_no_kernel() -> None:
    text = designed(
        reference(forward("torch.zeros(9, 4).index_add(0, x, y)", "x, y"), "[torch.arange(5), torch.randn(5, 4)]")
    )
    assert text.count("@kernel") == 1 and "zeros(" in text and "atomic_add" in text


@pytest.mark.parametrize("units", [2, 16])
def test_wide_rows_are_shared_out_by_their_columns(units: int) -> None:
    """No two programs update the same place, and every unit has one."""
    rows = "[torch.zeros(8, 400), torch.randint(0, 8, (64,)), torch.randn(64, 400)]"
    text = designed(
        reference(forward("x.index_add(0, y, z)", "x, y, z"), rows), Traits(units=units, tile_elements=6144)
    )
    updates = text.rpartition("@kernel")[2].partition("@program")[0]
    assert "grid(400, " in updates and "whole(64)" in updates and "atomic_add(" in updates


def test_what_replaces_is_the_last_that_meets() -> None:
    source = reference(
        forward("x.index_copy(0, y, z)", "x, y, z"), "[torch.randn(9, 4), torch.arange(5), torch.randn(5, 4)]"
    )
    text = variant(capture(load_source(source, "reference")), SMALL, Policy()).text
    assert "atomic_max" in text


def test_a_mask_with_a_value_for_each_element_is_refused() -> None:
    with pytest.raises(UnsupportedOperator, match=r"with a mask and a value for each element"):
        designed(reference(forward("x.index_put((x > 0,), y)", "x, y"), "[torch.randn(5, 8), torch.randn(12)]"))


BESIDE = [
    "torch.cat([x, torch.zeros(5, 8).index_add(0, i, x)], 1)",
    "torch.stack([torch.zeros(5, 8).index_add(0, i, y), y.index_add(0, i, x)], 1)",
    "(lambda z: torch.bmm(z, z.mT))(torch.stack([x, torch.zeros(5, 8).index_add(0, i, x), y], 1))",
]


@pytest.mark.parametrize("line", BESIDE)
def test_beside_other_tensors(line: str) -> None:
    judge(reference(forward(line, "x, y, i"), "[torch.randn(5, 8), torch.randn(5, 8), torch.randint(0, 5, (5,))]"))


def test_a_tensor_that_says_a_size_has_its_other_sizes_said_too() -> None:
    body = (
        "    def forward(self, x, q, f, p):\n        turn = torch.arange(q.shape[1])\n"
        "        last = torch.zeros_like(x).scatter_reduce(0, p[turn], turn, 'amax')\n"
        "        return last, q * torch.cat([f, f])"
    )
    inputs = "[torch.randint(0, 9, (6,)), torch.randn(3, 5, 8), torch.randn(4), torch.randint(0, 6, (7,))]"
    judge(reference(body, inputs), dynamic=True)


@pytest.mark.parametrize("kind", ["amax", "amin"])
@pytest.mark.parametrize("dtype", ["float", "double", "bfloat16"])
def test_nans_win_by_their_bits(kind: str, dtype: str) -> None:
    some = "torch.where(torch.rand({}) < 0.1, torch.nan, torch.randn({}))"
    given = [some.format(*[shape] * 2) + f".{dtype}()" for shape in ("6, 9", "6, 20")]
    source = reference(
        forward(
            f"(x.scatter_reduce(1, i, y, '{kind}'), x.neg().scatter_reduce(1, i, y, '{kind}', include_self=False))",
            "x, i, y",
        ),
        f"[{given[0]}, torch.randint(0, 9, (6, 20)), {given[1]}]",
    )
    assert "from_bits(" in judge(source).sketches[0].text
