"""How many tiles a tiling goes through."""

from __future__ import annotations

import re

import pytest

from akg_core.design import variant
from akg_core.design.algebra.index import Axis, index
from akg_core.design.nest.tiling import WHOLE, Step, Tiling, in_chunks
from akg_core.design.policy import Policy
from akg_core.records import Traits
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from tests.design.judging import forward, judge, reference


def axis(name: str, extent: int) -> Axis:
    return Axis(name, index(extent))


def test_axes_that_are_whole_are_one_tile() -> None:
    loops = ((axis("m", 100), WHOLE), (axis("n", 100), Step(16)))
    assert Tiling((), (), loops).tiles == 7
    assert Tiling((), (), loops[:1]).tiles == 1


def test_a_chunk_of_an_axis_that_is_whole() -> None:
    assert Tiling((), (), ((axis("m", 100), WHOLE),), chunk=50).tiles == 1
    assert Tiling((), (), ((axis("m", 100), Step(10)), (axis("n", 8), WHOLE)), chunk=50).tiles == 5


def test_a_split_loop_ends_with_its_chunk() -> None:
    loops = ((axis("m", 16), WHOLE), (axis("n", 8), WHOLE))
    split = in_chunks(Tiling((), (), loops), 4)
    assert split.chunk == 4 and split.loops == ((axis("m", 16), Step(4)), (axis("n", 8), WHOLE))
    stepped = Tiling((), (), ((axis("m", 100), Step(10)),))
    assert in_chunks(stepped, 30).loops == stepped.loops


@pytest.mark.parametrize(
    "line",
    [
        "x / torch.sqrt((x * x).mean(1, keepdim=True) + 1e-5)",
        "F.instance_norm(x)",
        "x.sum(1)",
        "x.var((0, 2, 3))",
        "x.logsumexp((2, 3))",
    ],
)
def test_small_tensors_on_a_chip_of_many_units(line: str) -> None:
    many = Traits(units=132, lanes=32, on_chip_bytes=128 * 1024, tile_elements=2048, dot_tile=(128, 128, 32))
    judge(reference(forward(line), "[torch.randn(16, 16, 16, 16)]"), traits=many)


def test_rows_whose_length_varies_are_walked_in_vectors_along_memory() -> None:
    """Channels stand in a quotient and a remainder; neighbours in memory, few in the example, may be many elsewhere."""
    task = reference(forward("F.group_norm(x, 4)"), "[torch.randn(1, 32, 2, 3)]")
    chip = Traits(units=4, lanes=16, on_chip_bytes=1 << 15, tile_elements=512, register_tiles=True)
    (held, *_) = judge(task, traits=chip, dynamic=True).sketches
    (walked, *_) = judge(task, traits=chip.model_copy(update={"spills": False}), dynamic=True).sketches
    assert "k = whole(s1 * s2)" in held.text and "whole(" not in walked.text
    assert "for k in tiles(s1 * s2, BK):" in walked.text and "BK: Tune[8, 16, 32, 64] = 16" in walked.text


def test_lanes_may_be_few_where_a_chip_refuses_what_is_too_much() -> None:
    task = reference(forward("x.sum(0)"), "[torch.randn(64, 64)]")
    chip = Traits(units=4, lanes=64, on_chip_bytes=1 << 15, tile_elements=512, register_tiles=True)
    (vectors, *_) = judge(task, traits=chip).sketches
    (fewer, *_) = judge(task, traits=chip.model_copy(update={"spills": False})).sketches
    assert "BM: Tune[64, " in vectors.text and "BM: Tune[16, 32, 64, " in fewer.text


def test_what_a_chip_refuses_in_one_tile_may_be_walked_in_smaller_ones() -> None:
    task = capture(load_source(reference(forward("x.sum(1)"), "[torch.randn(3, 4096)]"), "reference"))
    chip = Traits(lanes=64, on_chip_bytes=1 << 15, tile_elements=4096, register_tiles=True)
    walked = [variant(task, chip.model_copy(update={"spills": s}), Policy(on_chip=False)).text for s in (True, False)]
    assert "n = whole(4096)" in walked[0] and "for n in tiles(4096, BN)" in walked[1]


def test_few_positions_of_a_window_may_be_in_a_tile_that_a_chip_refuses() -> None:
    """Those that lie side by side in memory are not: lanes run over results."""
    source = reference(forward("F.avg_pool3d(x, 7, 1, 3)"), "[torch.randn(16, 9, 9, 9)]")
    task = capture(load_source(source, "reference"))
    chip = Traits(units=4, lanes=64, on_chip_bytes=1 << 15, tile_elements=4096, register_tiles=True)
    walked = [variant(task, chip.model_copy(update={"spills": s}), Policy(on_chip=False)).text for s in (True, False)]
    least = [{int(each) for each in re.findall(r"B[KLN]: Tune\[(\d+),", text)} for text in walked]
    assert least == [{8}, {2}]
