"""How many bytes of tiles a program takes where there are two of each that is loaded or stored; in tiles of f32."""

from __future__ import annotations

import pytest

from akg_core.lower.build import KEPT, body_of
from akg_core.lower.resources.buffers import buffered
from akg_core.lower.resources.fitting import fitting
from akg_core.lower.specialise import specialise
from akg_core.sketch.check import require, sound
from akg_core.sketch.parse import parse
from akg_core.sketch.schedule import default

MAPPED = """
@kernel
def k(x: In["f32", 65536], y: Out["f32", 65536], B: Tune[1024, 4096] = 4096):
    for i in grid(65536, 4096):
        x_t = load(x[i])
        store(y[i], RESULT)
"""
SUMMED = """
@kernel
def k(x: In["f32", 64, 65536], y: Out["f32", 64]):
    for m in grid(64, 1):
        total = zeros([m], "f32")
        for n in tiles(65536, 4096):
            total = total + reduce_sum(load(x[m, n]), n)
        store(y[m], total)
"""
PRODUCT = """
@kernel
def k(a: In["f32", 128, 128], b: In["f32", 128, 128], y: Out["f32", 128, 128]):
    for m in grid(128, 64):
        for n in grid(128, 64):
            acc = zeros([m, n], "f32")
            for k in tiles(128, 64):
                acc = dot(load(a[m, k]), load(b[k, n]), over=k, into=acc)
            store(y[m, n], acc)
"""


def tiles(text: str) -> float:
    """Tiles of 4096 f32 that a program of the kernel takes."""
    (kernel,) = require(parse(text)).kernels
    return buffered(body_of(specialise(kernel, {}, {}, "k"), cheap=KEPT), 2).bytes / (4 * 4096)


@pytest.mark.parametrize(
    ("result", "count"),
    [
        ("relu(x_t)", 4),  # two that are loaded, two that are stored
        ("minimum(maximum(x_t + 3.0, 0.0), 6.0) / 6.0", 2),  # each step in place of the one before
        ("where(x_t > 0.0, x_t, x_t * 0.01)", 6 + 1 / 32),  # the product, zeros, and bits of the comparison
        ("gelu(x_t)", 7),  # three inside
        ("exp(x_t) + exp(-x_t)", 5),  # one waits for the other
    ],
)
def test_what_moves_counts_twice_and_each_step_once(result: str, count: float) -> None:
    assert tiles(MAPPED.replace("RESULT", result)) == pytest.approx(count)


def test_a_sum_is_kept_lane_by_lane() -> None:
    assert tiles(SUMMED) == 4, "two that are loaded, the sums, and what they become"


def test_a_product_is_shared_by_two_units_unless_its_factors_are_padded() -> None:
    padded = PRODUCT.replace("a[m, k]", "a[m, k - 1]")
    assert tiles(PRODUCT) == (4 + 1) / 2 and tiles(padded) == 4 + 1


def test_tiles_are_cut_until_all_copies_fit() -> None:
    tree = sound(parse(MAPPED.replace("grid(65536, 4096)", "grid(65536, B)").replace("RESULT", "relu(x_t)"))).tree
    room = 2 * 4 * 4096
    assert fitting(tree, default(tree), room, {}).values["k.B"] == 4096
    assert fitting(tree, default(tree), room, {}, copies=2).values["k.B"] == 1024
