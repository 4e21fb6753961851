"""Windows whose taps are written out, and rows of them that share what they load."""

from __future__ import annotations

from akg_core.testing.emission.form import Cases, randn


def cases() -> Cases:
    found = Cases()
    found.add(
        "taps_of_three_sides",
        """
@kernel
def k(x: In["f32", 11, 12, 75], y: Out["f32", 5, 5, 35]):
    for p in grid(5, 1):
        for q in grid(5, 1):
            for r in grid(35, 32):
                n = whole(3)
                k = whole(3)
                l = whole(2)
                t = reduce_sum(load(x[p * 2 + n - 1, q * 2 + k * 2 - 1, r * 2 + l * 3 - 1]), (n, k, l))
                store(y[p, q, r], t / 18.0)
""",
        randn(11, 12, 75),
    )
    found.add(
        "taps_of_other_windows_apart",
        """
@kernel
def k(x: In["f32", 33, 130], y: Out["f32", 11, 26]):
    for p in grid(11, 1):
        for q in grid(26, 16):
            n = whole(3)
            k = whole(5)
            store(y[p, q], reduce_max(load(x[p * 3 + n, q * 5 + k]), (n, k)))
""",
        randn(33, 130),
    )
    for rows, extent in ((4, 10), (2, 12)):
        found.add(
            f"rows_of_windows_{rows}",
            f"""
@kernel
def k(x: In["f32", 3, {extent + 1}, 62], y: Out["f32", 3, {extent}, 61]):
    for m in grid(3, 1):
        for g in grid({extent}, {rows}):
            for q in grid(61, 32):
                for p in tiles({extent}, 1, start=begin(g), stop=end(g), unroll={rows}):
                    n = whole(4)
                    k = whole(4)
                    peak = reduce_max(load(x[m, p + n - 1, q + k - 1], other=-inf), (n, k))
                    store(y[m, p, q], peak + p)
""",
            randn(3, extent + 1, 62),
        )
    found.add(
        "rows_of_two_axes",
        """
@kernel
def k(x: In["f32", 9, 13, 40], y: Out["f32", 9, 13, 40]):
    for g in grid(9, 2):
        for h in grid(13, 4):
            for r in grid(40, 32):
                for p in tiles(9, 1, start=begin(g), stop=end(g), unroll=2):
                    for q in tiles(13, 1, start=begin(h), stop=end(h), unroll=4):
                        n = whole(3)
                        k = whole(3)
                        t = load(x[p, q, r])
                        s = reduce_sum(load(x[p + n - 1, q + k - 1, r]) * t, (n, k))
                        store(y[p, q, r], s)
""",
        randn(9, 13, 40),
    )
    return found
