"""The programs of a region, counted: how many there are, and which tile of each grid axis one of them has."""

from __future__ import annotations

from collections.abc import Iterator

from akg_core.lower.fold import fold
from akg_core.lower.fold import tiles_of as count
from akg_core.lower.ir import Axis, Region
from akg_core.sketch.affine import INDEX
from akg_core.sketch.ast import Binary, Expr, Name, Number


def tiles_of(axis: Axis) -> Expr:
    """How many tiles a grid axis has."""
    return count(axis.extent, axis.tile_size)


def positions(region: Region) -> Iterator[tuple[Axis, Expr]]:
    """Each grid axis with the tile that `program` has along it, the last first, which turns fastest.

    Cooperative axes come at the end; there `member` is the tile.
    """
    apart = [axis for axis in region.grid if not axis.cooperative]
    rest: Expr = Name("program", type=INDEX)
    for number in range(len(apart) - 1, -1, -1):
        tiles = tiles_of(apart[number])
        yield apart[number], rest if number == 0 else fold(Binary("%", rest, tiles, type=INDEX))
        rest = fold(Binary("//", rest, tiles, type=INDEX))
    yield from ((axis, Name("member", type=INDEX)) for axis in region.grid if axis.cooperative)


def uneven(region: Region) -> bool:
    """Whether programs take unequal time: a loop of which one end is fixed and the other is not."""
    for inner in region.inside():
        if inner.kind in ("tiles", "range"):
            start, stop = (isinstance(bound, Number) for bound in inner.bounds[:2])
            if start != stop and (inner.axis is None or inner.bounds[1] != inner.axis.extent):
                return True
    return False
