"""Products over one axis and several, in batches, with wide sides, and of vectors."""

from __future__ import annotations

from akg_core.testing.emission.form import Cases, ints, randn


def cases() -> Cases:
    found = Cases()
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
    return found
