"""Branches, loops of every form, what they carry, several grids, and axes of one position or none."""

from __future__ import annotations

import torch

from akg_core.testing.emission.form import Cases, X, Y, randn


def cases() -> Cases:
    found = Cases()
    x = randn(7, 37)

    found.rows(
        "branches",
        X,
        Y,
        "t = load(x[m, n])\nif begin(n) > 0 and end(m) < M:\n    t = t * 2\nelse:\n    t = t + 100\nstore(y[m, n], t)",
        x,
        m=1,
    )
    found.add(
        "tiles_forms",
        """
@kernel
def k(x: In["f32", "M", "N"], y: Out["f32", "M"], z: Out["f32", "M"], w: Out["i64", "M"]):
    for m in grid(M, 2):
        a, b, c = zeros([m]), zeros([m]), zeros([m], "i64")
        for n in tiles(N, 10, start=3, stop=begin(m) * 4 + 9):
            a = a * 1.25 + reduce_sum(load(x[m, n]), n) * begin(n)
        for n in tiles(N, 10, start=2, reverse=True):
            b = b * 0.5 + first(load(x[m, n]), n)
        for n in tiles(N, 8, start=begin(m) - 3):
            c = c * 3 + reduce_sum(i64(load(x[m, n]) > 0) * (n + 1), n) + size(n)
        store(y[m], a)
        store(z[m], b)
        store(w[m], c)
""",
        x,
    )
    found.add(
        "ranges",
        """
@kernel
def k(x: In["f32", "M", "N"], y: Out["f32", "M", "N"]):
    for m in grid(M, 1):
        for n in grid(N, 20):
            acc = zeros([m, n])
            for i in range(3):
                for j in range(5, -1, -2):
                    acc = acc * 0.5 + load(x[m, n + i - j])
            total = 0
            for i in range(begin(m), N, 3):
                total = total + i
            store(y[m, n], acc + total)
""",
        x,
    )
    found.add(
        "recurrence",
        """
@kernel
def k(x: In["f32", "T", "N"], y: Out["f32", "T", "N"], z: Out["f32", "N"]):
    for n in grid(N, 20):
        h = zeros([n])
        for t in range(T):
            old = h
            h = tanh(load(x[t, n]) + 0.5 * h) + old * 0.1
            store(y[t, n], h)
        store(z[n], h)
""",
        randn(9, 45),
    )
    found.add(
        "two_grids",
        """
@kernel
def k(x: In["f32", "M", "N"], y: Out["f32", "M", "N"], z: Out["f32", "N"]):
    scale = 1.0 / M
    for m in grid(M, 2):
        total = reduce_sum(load(x[m, 0]) * scale, m)
        for n in grid(N, 16):
            store(y[m, n], load(x[m, n]) + total)
    for n in grid(N, 16):
        m = whole(M)
        store(z[n], reduce_sum(load(x[m, n]), m) * scale)
""",
        x,
    )
    found.whole_rows(
        "unit_sizes",
        X,
        'y: Out["f32", "M", "N"], z: Out["i64", "M"]',
        "t = load(x[m, n])\nstore(y[m, n], t / reduce_sum(t, n) + scan_sum(t, n))\nstore(z[m], argmax(t, n))",
        randn(5, 1),
    )
    found.whole_rows(
        "empty",
        X,
        'y: Out["f32", "M"], z: Out["f32", "M", "N"]',
        "t = load(x[m, n])\nstore(y[m], reduce_sum(t, n))\nstore(z[m, n], t)",
        torch.zeros(5, 0),
    )
    return found
