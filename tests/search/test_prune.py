from __future__ import annotations

import pytest

from akg_core.judge.timing.floor import Machine
from akg_core.lower.resources.fitting import Holding
from akg_core.lower.resources.work import Work, work
from akg_core.records import Schedule
from akg_core.search.prune import NEAREST, least_seconds, spilling, too_large, too_slow
from akg_core.sketch.check import require
from akg_core.sketch.parse import parse

PRODUCT = """@kernel
def mm(a: In["f32", "M", "K"], b: In["f32", "K", "N"], y: Out["f32", "M", "N"],
       BM: Tune[16, 64] = 16, BN: Tune[16, 64] = 16, BK: Tune[16, 32] = 16):
    for m in grid(M, BM):
        for n in grid(N, BN):
            acc = zeros([m, n])
            for k in tiles(K, BK):
                acc = acc + dot(load(a[m, k]), load(b[k, n]), over=k)
            store(y[m, n], acc)


@program
def main(a: In["f32", 256, 128], b: In["f32", 128, 512]):
    y = empty("f32", 256, 512)
    mm(a, b, y)
    return y
"""
ROWS = """@kernel
def rows(x: In["f32", 100, 1000], w: In["f32", 1000], y: Out["f32", 100, 1000], BN: Tune[64, 256] = 64):
    for m in grid(100, 1):
        for n in tiles(1000, BN):
            for i in range(0, 3, 1):
                t = load(x[m, n]) * load(w[n])
                store(y[m, n], t + load(x[m, i]))
"""
MACHINE = Machine(
    processor="p",
    cache_bytes=1,
    bytes_per_second={1: 1e9, 2: 2e9},
    operations_per_second=1e12,
)


def counted(text: str, **values: int) -> list[Work]:
    tree = require(parse(text, "t"), "t")
    name = tree.kernels[0].name
    return work(tree, Schedule(values={f"{name}.{key}": value for key, value in values.items()}))


def test_a_product_loads_each_operand_once_for_every_tile_of_the_other() -> None:
    m, n, k = 256, 512, 128
    for bm, bn in ((16, 16), (64, 64), (16, 64)):
        (found,) = counted(PRODUCT, BM=bm, BN=bn)
        assert found.programs == (m // bm) * (n // bn)
        assert found.bytes == 4 * (m * k * (n // bn) + k * n * (m // bm) + m * n)
        assert found.operations == 2 * m * n * k


def test_what_a_loop_does_not_change_counts_once_and_ragged_tiles_count_as_far_as_they_reach() -> None:
    for size in (64, 256):
        (found,) = counted(ROWS, BN=size)
        row = 1000 + 1000 + 1000 + 3  # of x, of w and of y, and the three that the inner loop asks for
        assert found.programs == 100 and found.bytes == 4 * 100 * row


def test_the_least_time_is_that_of_bytes_or_of_products_on_the_programs_that_there_are() -> None:
    moving, computing = Work(programs=100, bytes=8e9, operations=1), Work(programs=2, bytes=1, operations=1e12)
    assert least_seconds([moving], MACHINE, 100) == pytest.approx(8e9 / (NEAREST * 2e9))
    assert least_seconds([computing], MACHINE, 100) == pytest.approx(50.0)
    assert least_seconds([moving, computing], MACHINE, 100) == pytest.approx(51.0)


def test_what_cannot_beat_the_best_is_said_to_be_too_slow() -> None:
    assert [bool(reason) for reason in too_slow([1e-3, 2e-3, 3e-3], 2.5e-3)] == [False, False, True]
    assert [bool(reason) for reason in too_slow([1e-3, 3.9e-3, 4.1e-3], None)] == [False, False, True]
    assert too_slow([], None) == []


def test_what_spills_much_is_left_out_unless_everything_does() -> None:
    def spilled(*of_kernels: int) -> dict[str, int]:
        return {f"k{number}.spilled_bytes": count for number, count in enumerate(of_kernels)} | {"k0.registers": 255}

    assert [bool(reason) for reason in spilling([spilled(0, 300), spilled(100), {}])] == [True, False, False]
    assert spilling([spilled(900), spilled(400)]) == ["A thread spills 900 bytes.", ""]
    assert spilling([]) == []


def test_what_a_program_cannot_hold_is_not_timed() -> None:
    tree = require(parse(PRODUCT, "t"), "t")
    holding = Holding(tree)
    small, large = (holding.most(Schedule(values={"mm.BM": b, "mm.BN": b, "mm.BK": 32})) for b in (16, 64))
    assert small < large and large >= 4 * (64 * 64 + 2 * 64 * 32)
    assert too_large([small, large], large) == ["", ""] == too_large([small, large], 0)
    assert too_large([small, large], large - 1) == [
        "",
        f"A program would hold {large} bytes of tiles; there are {large - 1}.",
    ]
