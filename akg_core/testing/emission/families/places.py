"""Every way in which places in tensors are reached."""

from __future__ import annotations

import torch

from akg_core.testing.emission.form import Cases, X, Y, ints, randn


def cases() -> Cases:
    found = Cases()
    x = randn(7, 37)

    found.rows(
        "transpose",
        X,
        'y: Out["f32", "N", "M"]',
        "store(y[n, m], load(x[m, n]) * 2, stream=True)",
        randn(45, 70),
        m=32,
        n=32,
    )
    found.rows("reversed", X, Y, "store(y[m, n], load(x[m, N - 1 - n]))", x)
    found.rows(
        "strided",
        'x: In["f32", "M", "3*N + 2"], b: In["f32", "N"]',
        Y,
        "store(y[m, n], load(x[m, 3 * n + 1]) + load(b[n]))",
        randn(4, 3 * 37 + 2),
        randn(37),
    )
    found.rows("shifted", X, Y, "store(y[m, n], load(x[m, n - 5], other=7) + load(x[m - 1, n + 30]))", x)
    found.rows(
        "gather",
        'x: In["f32", "V", "W"], i: In["i64", "M"], j: In["i64", "N"]',
        'y: Out["f32", "M", "N"]',
        "store(y[m, n], load(x[load(i[m]), load(j[n])], other=-1))",
        randn(11, 9),
        ints(7, low=-2, high=13),
        ints(37, low=-2, high=11),
    )
    found.add(
        "computed_places",
        """
@kernel
def k(x: In["f32", "M", "N"], i: In["i64", "M", "K"], h: InOut["i32", "M", "N"], y: Out["f32", "M", "K"]):
    for m in grid(M, 24):
        n = whole(K)
        at = load(i[m, n])
        atomic_max(h[m, at & 15], i32(n))
        store(y[m, n], load(x[m, at & 15]) + load(x[m, at >> 2]))

@program
def model(x: In["f32", "M", "N"], i: In["i64", "M", "K"]):
    h = full("i32", -1, M, N)
    y = empty("f32", M, K)
    k(x, i, h, y)
    return h, y
""",
        randn(40, 16),
        ints(40, 3, low=0, high=64),
    )
    found.add(
        "digits",
        """
@kernel
def k(x: In["f32", "B", "C", "S"], w: In["f32", "C"], y: Out["f32", "B", "C", "S"], z: Out["f32", "C", "B", "S"]):
    for p in grid(B * C * S, 40):
        b, c, s = split(p, (B, C, S))
        t = load(x[b, c, s]) * load(w[c])
        store(y[b, c, s], t + s)
        store(z[c, b, s], t)
""",
        randn(3, 5, 13),
        randn(5),
    )
    found.add(
        "padded",
        """
@kernel
def k(x: In["f32", "C", "H", "W"], y: Out["f32", "C", "H", "W"], P: Const = 1):
    for c in grid(C, 1):
        for h in grid(H, 3):
            for w in grid(W, 32):
                i, j = whole(3), whole(3)
                store(y[c, h, w], reduce_max(load(x[c, h + i - P, w + j - P], other=-inf), (i, j)))
""".replace("i, j = whole(3), whole(3)", "i = whole(3)\n                j = whole(3)"),
        randn(2, 7, 37),
    )
    found.add(
        "scatter",
        """
@kernel
def k(i: In["i64", "N"], x: In["f32", "N"], y: Out["f32", "N"]):
    for n in grid(N, 24):
        store(y[load(i[n])], load(x[n]))
""",
        torch.randperm(37, generator=torch.Generator().manual_seed(1)),
        randn(37),
    )
    found.add(
        "atomics",
        """
@kernel
def count(i: In["i64", "N"], x: In["f32", "N"], y: InOut["f32", "V"], h: InOut["i32", "V"], w: InOut["f32", "V"]):
    for n in grid(N, 24):
        at = load(i[n])
        atomic_add(y[at], load(x[n]))
        atomic_add(h[at], 1)
        atomic_max(w[at], load(x[n]))

@program
def model(i: In["i64", "N"], x: In["f32", "N"]):
    y = zeros("f32", 11)
    h = zeros("i32", 11)
    w = full("f32", -9, 11)
    count(i, x, y, h, w)
    return y, h, w
""",
        ints(200, low=-1, high=12),
        randn(200),
    )
    found.add(
        "filled_and_updated",
        """
@kernel
def k(x: In["f32", "M", "N"], i: In["i64", "M", "N"], y: Out["f32", "M", "N"], z: Out["f32", "M", "N"]):
    for m in grid(M, 3):
        n = whole(N)
        store(y[m, n], load(x[m, n]))
        atomic_add(y[m, load(i[m, n])], load(x[m, n]) + 1)
        for p in tiles(N, 16):
            store(z[m, p], 0.5)
        for q in tiles(N, 16):
            atomic_max(z[m, load(i[m, q])], load(x[m, q]))
        atomic_add(z[m, 0], 3)
        if N > 5:
            store(z[m, N - 1], 7)

@program
def model(x: In["f32", "M", "N"], i: In["i64", "M", "N"]):
    y = empty("f32", M, N)
    z = empty("f32", M, N)
    k(x, i, y, z)
    return y, z
""",
        randn(7, 37),
        ints(7, 37, low=-1, high=38),
    )
    return found
