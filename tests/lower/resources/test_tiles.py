"""How many bytes of tiles live at once, by the IR."""

from __future__ import annotations

from akg_core.lower.build import KEPT, body_of
from akg_core.lower.resources.liveness import Peak, peak
from akg_core.lower.specialise import specialise
from akg_core.sketch.check import require
from akg_core.sketch.parse import parse

LATER = """
@kernel
def k(x: In["f32", "M", "N"], y: Out["f32", "M", "N"]):
    for m in grid(M, 4):
        for n in tiles(N, 8):
            a = load(x[m, n])
            b = exp(a)
            c = a + b
            store(y[m, n], c)
"""
SUMMED = """
@kernel
def k(x: In["f32", 64, 64], y: Out["f32", 64]):
    for m in grid(64, 16):
        total = zeros([m], "f32")
        for n in tiles(64, 32):
            total = total + reduce_sum(load(x[m, n]), n)
        store(y[m], total)
"""
PRODUCT = """
@kernel
def k(a: In["f16", 64, 64], b: In["f16", 64, 64], y: Out["f32", 64, 64]):
    for m in grid(64, 16):
        for n in grid(64, 16):
            acc = zeros([m, n], "f32")
            for k in tiles(64, 32):
                acc = dot(load(a[m, k]), load(b[k, n]), over=k, into=acc)
            store(y[m, n], acc)
"""


def held(text: str, **sizes: int) -> Peak:
    (kernel,) = require(parse(text)).kernels
    return peak(body_of(specialise(kernel, {}, sizes, "k"), cheap=KEPT))


def test_what_lives_together_counts() -> None:
    found = held(LATER)
    assert (found.bytes, found.place.line) == (2 * 4 * 8 * 4, 8) and set(found.names) == {"a", "b"}
    assert held(LATER, N=2).bytes == 2 * 4 * 2 * 4, "an extent that is less than the step"


def test_a_tile_is_held_as_a_power_of_two() -> None:
    assert held(LATER.replace("8):", "9):")).bytes == 2 * 4 * 16 * 4


def test_what_a_loop_carries_lives_through_it() -> None:
    assert held(SUMMED).bytes == 16 * 4 + 16 * 32 * 4 + 16 * 4, "the total, what is loaded, and its sum"


def test_factors_count_while_a_product_reads_them() -> None:
    found = held(PRODUCT)
    assert found.bytes == 16 * 16 * 4 + 2 * 16 * 32 * 2 and found.names == ("acc",)
