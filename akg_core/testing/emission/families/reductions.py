"""Reductions and arg-reductions, along rows and columns, whole and in blocks."""

from __future__ import annotations

import torch

from akg_core.testing.emission.form import NANS, Cases, X, Y, ints, randn


def cases() -> Cases:
    found = Cases()
    x = randn(7, 37)

    every = (
        "t = load(x[m, n])\n"
        "store(a[m], reduce_sum(t, n))\n"
        "store(b[m], reduce_max(t, n))\n"
        "store(c[m], reduce_min(t, n) + reduce_prod(1 + t / 99, n))\n"
        "store(d[m], reduce_any(t > 2, n))\n"
        "store(e[m], argmax(t, n))\n"
        "store(f[m], argmin(t, n))\n"
        "store(g[m], first(t, n) - last(t, n))"
    )
    results = (
        'a: Out["f32", "M"], b: Out["f32", "M"], c: Out["f32", "M"], d: Out["bool", "M"],'
        ' e: Out["i64", "M"], f: Out["i64", "M"], g: Out["f32", "M"]'
    )
    found.whole_rows("reduce_rows", X, results, every, randn(7, 300))
    found.whole_rows("reduce_nans", X, results, every, NANS)
    columns = every.replace("x[m, n]", "x[n, m]")
    for size, step in ((9, 40), (100, 40), (100, 1)):
        found.whole_rows(
            f"reduce_columns_{size}_{step}", 'x: In["f32", "N", "M"]', results, columns, randn(size, 45), m=step
        )
    found.whole_rows(
        "reduce_ints",
        'x: In["i32", "M", "N"]',
        'y: Out["i64", "M"], z: Out["i32", "M"], w: Out["i64", "M"], v: Out["bool", "M"], u: Out["i64", "M"]',
        "t = load(x[m, n])\n"
        "store(y[m], reduce_sum(t, n))\n"
        "store(z[m], reduce_max(t, n))\n"
        "store(w[m], reduce_sum(t > 0, n))\n"
        "store(v[m], reduce_all(t > -50, n))\n"
        "store(u[m], reduce_max(where(t > 0, n, -1), n) - reduce_min(where(t > 0, n, 37), n))",
        ints(7, 37, dtype=torch.int32),
    )
    found.whole_rows(
        "reduce_half",
        'x: In["f16", "M", "N"]',
        'y: Out["f16", "M"], z: Out["f16", "M"]',
        "t = load(x[m, n])\nstore(y[m], reduce_sum(t, n))\nstore(z[m], reduce_max(t, n))",
        randn(7, 100).half(),
    )
    found.whole_rows(
        "reduce_half_columns",
        'x: In["f16", "N", "M"]',
        'y: Out["f16", "M"], z: Out["f16", "M"]',
        "t = load(x[n, m])\nstore(y[m], reduce_sum(t, n))\nstore(z[m], reduce_max(t, n))",
        randn(100, 45).half(),
        m=40,
    )
    found.add(
        "reduce_middle",
        """
@kernel
def k(x: In["f32", "A", "N", "C", "E"], y: Out["f32", "A", "C"], z: Out["i64", "A", "C", "E"]):
    for a in grid(A, 2):
        for c in grid(C, 3):
            n = whole(N)
            e = whole(E)
            t = load(x[a, n, c, e])
            store(y[a, c], reduce_sum(t, (n, e)))
            store(z[a, c, e], argmax(t, n))
""",
        randn(3, 20, 5, 21),
    )
    found.add(
        "reduce_all_of_it",
        """
@kernel
def k(x: In["f32", "M", "N"], y: Out["f32"], z: Out["f32"]):
    m = whole(M)
    n = whole(N)
    t = load(x[m, n])
    store(y, reduce_sum(t * t, (m, n)) / (M * N))
    store(z, reduce_max(reduce_sum(t, n), m))
""",
        randn(13, 37),
    )
    found.whole_rows(
        "softmax_columns",
        'x: In["f32", "N", "M"]',
        'y: Out["f32", "N", "M"]',
        "t = load(x[n, m])\ne = exp(t - reduce_max(t, n))\nstore(y[n, m], e / reduce_sum(e, n))",
        randn(60, 45),
        m=32,
    )
    found.whole_rows(
        "softmax_rows",
        X,
        Y,
        "t = load(x[m, n])\ne = exp(t - reduce_max(t, n))\nstore(y[m, n], e / reduce_sum(e, n))",
        randn(7, 1300),
        m=4,
    )
    found.add(
        "both_ways",
        """
@kernel
def k(x: In["f32", "M", "N"], y: Out["f32", "M"], z: Out["f32", "N"]):
    m = whole(M)
    n = whole(N)
    t = load(x[m, n])
    store(y[m], reduce_sum(t, n))
    store(z[n], reduce_sum(t * t, m))
""",
        x,
    )
    return found
