"""Threads of a program: as core counts warps, and where matrix units multiply, groups of four of these."""

from __future__ import annotations

from collections.abc import Iterator

from akg_core.plugin.lower import Body, Op, Region
from akg_core.plugin.resources import ProgramLimits, warps_of
from akg_core.plugin.sketch import Number
from akg_core.plugin.tile import is_matrix_product, order

MOST = 512
LIMITS = ProgramLimits(on_chip_bytes=200 * 1024, warps=MOST // 32)
LEAST = 64  # threads
FEW_TERMS = 64
ROWS = 64  # that a group of four warps multiplies at once: tiles may be a multiple of it
OF_PRODUCTS, OF_SUMS = 64, 192  # elements of the largest tile, and of sums, for a thread where matrix units multiply


def threads_of(body: Body, region: Region) -> int:
    """As the sketch says, else by the largest tile.

    Where lanes run over results that are reduced from a few terms each, there is a result for every thread.
    Products of half precision have two groups of four warps, each with half of the rows, unless tiles are small or the
    sums would not fit. Of rows that are no power of two, each group has as many as it multiplies at once.
    """
    hinted = any(isinstance(axis.hints.get("warps"), Number) for axis in region.grid)
    ops = list(region.inside())
    usual = LIMITS.lanes * warps_of(body, region, LIMITS, stages=1, turns=max([1, *map(unrolled, ops)]))
    products = [op for op in ops if is_matrix_product(op)]
    if hinted or not any(op.expr and op.expr.type and op.expr.type.dtype in ("f16", "bf16") for op in products):
        return usual if hinted else min([usual, *_results(body, region)])
    axes = order(body, region, ())
    rows = [next((body.axes[a].lanes or 0 for a in axes if a in op.result.axes), 0) for op in products]
    if uneven := [number for number in rows if number & (number - 1) and number % ROWS == 0]:
        return max(uneven) // ROWS * 128
    tiles = [op.target for op in ops if op.target is not None]
    largest = max(body.lanes_of(tile.axes) for tile in tiles)
    sums = {op.target.name for op in products if op.target}
    sums |= {name for name, value in body.values.items() if value.mutable and len(value.axes) > 1}
    most = MOST if sum(body.lanes_of(body.values[name].axes) for name in sums) > OF_SUMS * 256 else 256
    return min(max(128, 1 << max(largest // OF_PRODUCTS, 1).bit_length() - 1), most)


def unrolled(op: Op) -> int:
    """How many turns of a loop a thread makes at once, as the sketch says; 0 where it does not."""
    turns = op.hints.get("unroll")
    return int(turns.value) if op.kind == "tiles" and isinstance(turns, Number) else 0


def _results(body: Body, region: Region) -> Iterator[int]:
    """Of each reduction of a few terms whose results are neighbours in memory, how many results it has."""
    axes = order(body, region, ())
    for op in region.inside():
        if op.kind == "reduce" and op.target is not None:
            last = [axis for axis in axes if axis in body.axes_of(op.operand)][-1:]
            kept, terms = body.lanes_of(op.target.axes), body.lanes_of(op.over)
            if last and last[0] not in op.over and terms <= FEW_TERMS and kept >= LEAST:
                yield kept
