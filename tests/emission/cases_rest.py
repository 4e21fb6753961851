"""Matrix products, loops and branches, scratch memory, rendezvous, odd sizes, and the twelve sketches."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from tests.emission.cases_form import Cases, X, Y, ints, randn, rows, whole_rows
from tests.emission.running import Case

SKETCHES = Path(__file__).parents[2] / "examples" / "sketches"


def cases() -> Cases:
    found = Cases()
    x = randn(7, 37)

    # --- products ---
    for name, dtype, out, made in (
        ("f32", "f32", "f32", lambda *s: randn(*s)),
        ("f64", "f64", "f64", lambda *s: randn(*s).double()),
        ("bf16", "bf16", "f32", lambda *s: randn(*s).bfloat16()),
        ("i64", "i64", "i64", lambda *s: ints(*s)),
    ):
        found.add(
            f"dot_{name}",
            f"""
@kernel
def k(a: In["{dtype}", "M", "K"], b: In["{dtype}", "N", "K"], y: Out["{out}", "M", "N"]):
    for m in grid(M, 32):
        for n in grid(N, 32):
            acc = zeros([m, n], "{out}")
            for k in tiles(K, 24):
                acc = dot(load(a[m, k]), load(b[n, k]), over=k, into=acc)
            store(y[m, n], acc)
""",
            made(45, 50),
            made(37, 50),
        )
    found.add(
        "dot_transposed_out",
        """
@kernel
def k(a: In["f32", "K", "M"], b: In["f32", "K", "N"], y: Out["f32", "N", "M"]):
    for m in grid(M, 32):
        for n in grid(N, 32):
            k = whole(K)
            store(y[n, m], tanh(dot(load(a[k, m]), load(b[k, n]), over=k)))
""",
        randn(50, 45),
        randn(50, 37),
    )
    found.add(
        "dot_batched",
        """
@kernel
def k(a: In["f32", "B", "M", "K"], b: In["f32", "B", "K", "N"], y: Out["f32", "B", "M", "N"]):
    for b_ in grid(B, 2):
        for m in grid(M, 16):
            n = whole(N)
            k = whole(K)
            store(y[b_, m, n], dot(load(a[b_, m, k]) * 2, relu(load(b[b_, k, n])), over=k))
""",
        randn(3, 20, 11),
        randn(3, 11, 21),
    )
    found.add(
        "dot_two_axes",
        """
@kernel
def k(a: In["f32", "M", "P", "Q"], b: In["f32", "N", "Q", "P"], y: Out["f32", "M", "N"]):
    for m in grid(M, 16):
        n = whole(N)
        p = whole(P)
        q = whole(Q)
        store(y[m, n], dot(load(a[m, p, q]), load(b[n, q, p]), over=(p, q)))
""",
        randn(20, 3, 11),
        randn(21, 11, 3),
    )
    found.add(
        "dot_wide_sides",
        """
@kernel
def k(a: In["f32", "P", "Q", "K"], b: In["f32", "K", "R", "S"], y: Out["f32", "P", "Q", "R", "S"]):
    for p in grid(P, 2):
        q = whole(Q)
        r = whole(R)
        s = whole(S)
        acc = zeros([p, q, r, s])
        for k in tiles(K, 8):
            acc = dot(load(a[p, q, k]), load(b[k, r, s]), over=k, into=acc)
        store(y[p, q, r, s], acc)
""",
        randn(3, 9, 20),
        randn(20, 3, 18),
    )
    found.add(
        "matvec",
        """
@kernel
def k(a: In["f32", "M", "K"], v: In["f32", "K"], y: Out["f32", "M"]):
    for m in grid(M, 16):
        acc = zeros([m])
        for k in tiles(K, 32):
            acc = dot(load(a[m, k]), load(v[k]), over=k, into=acc)
        store(y[m], acc)
""",
        randn(45, 100),
        randn(100),
    )
    found.add(
        "row_times_matrix",
        """
@kernel
def k(a: In["f32", "M", "K"], b: In["f32", "K", "N"], y: Out["f32", "M", "N"]):
    for m in grid(M, 1):
        for n in grid(N, 40):
            k = whole(K)
            store(y[m, n], dot(load(a[m, k]), load(b[k, n]), over=k))
""",
        randn(3, 50),
        randn(50, 70),
    )
    found.add(
        "triangle",
        """
@kernel
def k(a: In["f32", "N", "N"], b: In["f32", "N", "N"], y: Out["f32", "N", "N"]):
    for m in grid(N, 16):
        for n in grid(N, 16):
            acc = zeros([m, n])
            for k in tiles(N, 16, start=begin(n), stop=end(m)):
                left = load(a[m, k])
                acc = dot(where(k <= m, left, 0.0), where(n <= k, load(b[k, n]), 0.0), over=k, into=acc)
            store(y[m, n], acc)
""",
        randn(45, 45),
        randn(45, 45),
    )

    # --- control ---
    found.add(
        "branches",
        rows(
            X,
            Y,
            "t = load(x[m, n])\n"
            "if begin(n) > 0 and end(m) < M:\n"
            "    t = t * 2\n"
            "else:\n"
            "    t = t + 100\n"
            "store(y[m, n], t)",
            m=1,
        ),
        x,
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
    found.add(
        "scratch",
        """
@kernel
def k(x: In["f32", "M", "N"], s: Scratch["f32", "M", "N"], y: Out["f32", "M", "N"]):
    for m in grid(M, 1):
        n = whole(N)
        store(s[m, n], exp(load(x[m, n])))
        store(y[m, n], load(s[m, N - 1 - n]) + load(s[m, n]))
""",
        x,
    )
    for step in (1, 2):
        found.add(
            f"meet_{step}",
            """
@kernel
def k(x: In["f32", "M", "N"], y: Out["f32", "M", "N"], z: Out["f32", "M"]):
    for m in grid(M, STEP):
        for g in grid(4, 1, together=True):
            c = N // 4
            n = whole(N // 4)
            t = load(x[m, begin(g) * c + n])
            peak = meet_max(reduce_max(t, n), g)
            total = meet_sum(reduce_sum(exp(t - peak), n), g)
            store(y[m, begin(g) * c + n], exp(t - peak) / total)
            if begin(g) == 0:
                store(z[m], total)
""".replace("STEP", str(step)),
            randn(5, 40),
        )
    found.add(
        "meet_once",
        """
@kernel
def k(x: In["f32", "M", "N"], y: Out["f32", "M", "N"], z: Out["f32", "M"]):
    for m in grid(M, 1):
        for g in grid(3, 1, together=True):
            c = N // 3
            n = whole(N // 3)
            t = load(x[m, begin(g) * c + n])
            seen = f32(size(n))
            part = reduce_sum(t, n)
            own = part / seen
            around = reduce_sum((t - own) * (t - own), n)
            mean = meet_sum(part, g) / N
            squares = meet_sum(around + seen * (own - mean) * (own - mean), g)
            low = meet_min(own - mean, g)
            store(y[m, begin(g) * c + n], (t - mean) / squares)
            if begin(g) == 0:
                store(z[m], low)
""",
        randn(5, 42),
    )
    found.add(
        "unit_sizes",
        whole_rows(
            X,
            'y: Out["f32", "M", "N"], z: Out["i64", "M"]',
            "t = load(x[m, n])\nstore(y[m, n], t / reduce_sum(t, n) + scan_sum(t, n))\nstore(z[m], argmax(t, n))",
        ),
        randn(5, 1),
    )
    found.add(
        "empty",
        whole_rows(
            X,
            'y: Out["f32", "M"], z: Out["f32", "M", "N"]',
            "t = load(x[m, n])\nstore(y[m], reduce_sum(t, n))\nstore(z[m, n], t)",
        ),
        torch.zeros(5, 0),
    )
    return found


def twelve() -> list[Case]:
    """The sketches of examples/sketches, at sizes that divide nothing."""
    given: dict[str, tuple[tuple[Tensor, ...], dict[str, Tensor]]] = {
        "softmax": ((randn(5, 3000),), {}),
        "layer_norm": ((randn(3, 7, 37),), {"norm.weight": randn(7, 37), "norm.bias": randn(7, 37, seed=1)}),
        "linear_gelu": ((randn(70, 45),), {"fc.weight": randn(33, 45), "fc.bias": randn(33)}),
        "batched_matmul": ((randn(3, 50, 41), randn(3, 70, 41)), {}),
        "conv2d": ((randn(2, 4, 9, 11),), {"conv.weight": randn(6, 2, 3, 3), "conv.bias": randn(6)}),
        "conv_transpose2d": ((randn(2, 4, 5, 6),), {"conv.weight": randn(4, 5, 3, 3), "conv.bias": randn(5)}),
        "max_pool2d": ((randn(2, 3, 13, 45),), {}),
        "cumsum": ((randn(5, 700),), {}),
        "flash_attention": ((randn(1, 2, 75, 24), randn(1, 2, 75, 24, seed=1), randn(1, 2, 75, 24, seed=2)), {}),
        "cross_entropy": ((randn(9, 300), torch.tensor([1, 5, -100, 299, 0, 7, 8, 9, 250])), {}),
        "argmax": ((randn(3, 19, 37).round(),), {}),
        "embedding_mean": ((ints(4, 19, low=0),), {"embedding.weight": randn(50, 70)}),
    }
    return [
        Case(name, (SKETCHES / f"{name}.py").read_text(), inputs, parameters, tolerance=1e-5)
        for name, (inputs, parameters) in given.items()
    ]
