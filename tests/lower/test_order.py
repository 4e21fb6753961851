"""Which axis is the first dimension of a region's tiles, and which the last."""

from __future__ import annotations

from akg_core.lower.products import DotStrategy
from akg_core.lower.tile.order import accesses as accesses_of
from akg_core.lower.tile.order import gathers, order, pairings
from akg_core.lower.tile.padding import pad
from tests.lower.test_passes import built

STRATEGIES = {"ieee": DotStrategy(exact=True), "split3": DotStrategy(), "fast": DotStrategy()}
COPY = """
@kernel
def f(x: In["f32", 64, 64], y: Out["f32", 64, 64]):
    for m in grid(64, 16):
        for n in grid(64, 16):
            store(y[m, n], load(x[m, n]))
"""
MATMUL = """
@kernel
def f(a: In["f16", 64, 64], b: In["f16", 64, 64], c: Out["f32", 64, 64]):
    for m in grid(64, 32):
        for n in grid(64, 32):
            total = zeros([m, n], "f32")
            for k in tiles(64, 32):
                total = dot(load(a[m, k]), load(b[k, n]), over=k, into=total)
            store(c[m, n], total)
"""
DIGITS = """
@kernel
def f(x: In["f32", 64, 64], y: Out["f32", 64, 64]):
    for n in grid(64, 16):
        m = whole(64)
        store(y[m, n], load(x[m, n % 8 * 8 + n // 8]))
"""


SHORT = """
@kernel
def f(x: In["f32", 64, 3, 216], w: In["f32", 64, 3], b: In["f32", 64, 3], y: Out["f32", 64]):
    for m in grid(64, 1):
        k = whole(3)
        l = whole(216)
        store(y[m], reduce_sum(load(x[m, k, l]) * load(w[m, k]) + load(b[m, k]), (k, l)))
"""


def ordered(text: str, row: int = 1) -> list[str]:
    body = built(text, lambda body: pad(body, 16))
    (region,) = body.regions
    found = order(body, region, pairings(body, region, STRATEGIES), row)
    return [axis for axis in found if not body.axes[axis].unit]


def test_what_is_contiguous_in_memory_is_last() -> None:
    assert ordered(COPY) == ["m", "n"]
    assert ordered(COPY.replace("y[m, n]", "y[n, m]").replace("x[m, n]", "x[n, m]")) == ["n", "m"]


def test_what_is_shorter_than_a_vector_is_not_last_where_something_longer_is_contiguous() -> None:
    assert ordered(SHORT) == ["l", "k"], "most accesses run along k"
    assert ordered(SHORT, row=64) == ["k", "l"]
    other = SHORT.replace("64, 3, 216]", "64, 216, 3]").replace("m, k, l]", "m, l, k]")
    assert ordered(other, row=64) == ["l", "k"], "nothing runs along l"


def test_rows_of_a_product_come_before_its_columns() -> None:
    found = ordered(MATMUL)
    assert found.index("m") < found.index("n")
    fewer = ordered(MATMUL.replace("m in grid(64, 32)", "m in grid(64, 16)"))
    assert fewer.index("n") < fewer.index("m"), "rows fill matrix units: more lanes come first"


def test_digits_of_an_index_gather() -> None:
    copy, digits = (built(text, lambda body: pad(body, 16)) for text in (COPY, DIGITS))
    assert not gathers(accesses_of(copy, copy.regions[0].ops))
    assert gathers(accesses_of(digits, digits.regions[0].ops))
