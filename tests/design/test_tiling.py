"""How many tiles a tiling goes through."""

from __future__ import annotations

from akg_core.design.index import Axis, index
from akg_core.design.tiling import WHOLE, Step, Tiling


def axis(name: str, extent: int) -> Axis:
    return Axis(name, index(extent))


def test_axes_that_are_whole_are_one_tile() -> None:
    loops = ((axis("m", 100), WHOLE), (axis("n", 100), Step(16)))
    assert Tiling((), (), loops).tiles == 7
    assert Tiling((), (), loops[:1]).tiles == 1


def test_a_chunk_of_an_axis_that_is_whole() -> None:
    assert Tiling((), (), ((axis("m", 100), WHOLE),), chunk=50).tiles == 1
    assert Tiling((), (), ((axis("m", 100), Step(10)), (axis("n", 8), WHOLE)), chunk=50).tiles == 5
