"""Scans along rows and columns, from both ends; rows and columns in order."""

from __future__ import annotations

import torch

from akg_core.testing.emission.form import Cases, X, ints, randn


def cases() -> Cases:
    found = Cases()
    scans = (
        "t = load(x[m, n])\n"
        "store(a[m, n], scan_sum(t, n))\n"
        "store(b[m, n], scan_max(t, n, reverse=True))\n"
        "store(c[m, n], scan_prod(1 + t / 50, n, reverse=True) + scan_min(t, n))"
    )
    kept = 'a: Out["f32", "M", "N"], b: Out["f32", "M", "N"], c: Out["f32", "M", "N"]'
    found.whole_rows("scan_rows", X, kept, scans, randn(7, 75))
    for step in (1, 40):
        found.whole_rows(
            f"scan_columns_{step}",
            'x: In["f32", "N", "M"]',
            kept.replace('"M", "N"', '"N", "M"'),
            scans.replace("[m, n]", "[n, m]"),
            randn(50, 45),
            m=step,
        )
    found.whole_rows(
        "scan_ints",
        'x: In["i32", "M", "N"]',
        'y: Out["i64", "M", "N"]',
        "store(y[m, n], scan_sum(load(x[m, n]), n))",
        ints(3, 75, dtype=torch.int32),
    )
    keys = "t = load(x[m, n])\nstore(y[m, n], sort(t * 3 - n, n))"
    found.whole_rows("sort_rows", 'x: In["i64", "M", "N"]', 'y: Out["i64", "M", "N"]', keys, ints(5, 300))
    hill = "t = load(x[m, 0])\nstore(y[m, n], sort(where(n < 20, t + 3 * n, t + 90 - 2 * n), n, bitonic=True))"
    for size in (64, 75):
        found.whole_rows(f"merge_rows_{size}", 'x: In["i64", "M", "N"]', 'y: Out["i64", "M", "N"]', hill, ints(5, size))
    found.whole_rows(
        "sort_columns",
        'x: In["i32", "N", "M"]',
        'y: Out["i32", "N", "M"]',
        "t = sort(load(x[n, m]), n)\nstore(y[n, m], where(t > first(t, n), t, -1))",
        ints(50, 13, dtype=torch.int32),
        m=4,
    )
    return found
