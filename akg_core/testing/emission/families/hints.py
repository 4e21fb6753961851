"""Hints that change how a kernel is written, and never what it computes."""

from __future__ import annotations

from akg_core.testing.emission.form import Cases, randn


def cases() -> Cases:
    found = Cases()
    found.add(
        "persistent_product",
        """
@kernel
def k(a: In["f32", "M", "K"], b: In["f32", "N", "K"], y: Out["f32", "M", "N"]):
    for m in grid(M, 16, persistent=True):
        for n in grid(N, 16, swizzle=2):
            acc = zeros([m, n])
            for k in tiles(K, 16, stages=3, promote=1):
                acc = dot(load(a[m, k]), load(b[n, k]), over=k, into=acc, precision="split3")
            store(y[m, n], acc)
""",
        randn(70, 40),
        randn(50, 40),
    )
    found.add(
        "persistent_rows",
        """
@kernel
def k(x: In["f32", "M", "N"], y: Out["f32", "M"]):
    for m in grid(M, 2, persistent=True, warps=8):
        total, peak = zeros([m]), full([m], -inf)
        for n in tiles(N, 16, unroll=2):
            t = load(x[m, n])
            total = total + reduce_sum(t, n)
            peak = maximum(peak, reduce_max(t, n))
        store(y[m], total * peak)
""",
        randn(13, 75),
    )
    found.add(
        "ordered",
        """
@kernel
def k(x: In["f32", "M", "N"], y: Out["f32", "N", "M"]):
    for m in grid(M, 16):
        for n in grid(N, 16):
            store(y[n, m], load(x[m, n], order=(n, m)) * 2)
""",
        randn(45, 37),
    )
    return found
