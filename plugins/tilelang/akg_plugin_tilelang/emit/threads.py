"""Threads of a program: as core counts warps, and where matrix units multiply, groups of four of these."""

from __future__ import annotations

from akg_core.plugin.lower import Body, Region
from akg_core.plugin.resources import ProgramLimits, warps_of
from akg_core.plugin.sketch import Number
from akg_core.plugin.tile import is_matrix_product

MOST = 512
LIMITS = ProgramLimits(on_chip_bytes=200 * 1024, warps=MOST // 32)
OF_PRODUCTS, OF_SUMS = 64, 192  # elements of the largest tile, and of sums, for a thread where matrix units multiply


def threads_of(body: Body, region: Region) -> int:
    """As the sketch says, else by the largest tile.

    Products of half precision have two groups of four warps, each with half of the rows, unless tiles are small or the
    sums would not fit.
    """
    hinted = any(isinstance(axis.hints.get("warps"), Number) for axis in region.grid)
    ops = list(region.inside())
    products = [op for op in ops if is_matrix_product(op)]
    if hinted or not any(op.expr and op.expr.type and op.expr.type.dtype in ("f16", "bf16") for op in products):
        return LIMITS.lanes * warps_of(body, region, LIMITS, stages=1, turns=1)
    tiles = [op.target for op in ops if op.target is not None]
    largest = max(body.lanes_of(tile.axes) for tile in tiles)
    sums = {op.target.name for op in products if op.target}
    sums |= {name for name, value in body.values.items() if value.mutable and len(value.axes) > 1}
    most = MOST if sum(body.lanes_of(body.values[name].axes) for name in sums) > OF_SUMS * 256 else 256
    return min(max(128, 1 << max(largest // OF_PRODUCTS, 1).bit_length() - 1), most)
