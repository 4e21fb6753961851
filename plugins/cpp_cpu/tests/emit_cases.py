"""Small sketches, each for something that the emitter must get right. Sizes divide no vector and no tile."""

from __future__ import annotations

import torch
from compiled import Case
from torch import Tensor


def _randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def _ints(*shape: int, low: int = -50, high: int = 50, dtype: torch.dtype = torch.int64) -> Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


def _rows(ins: str, outs: str, body: str, m: int = 3, n: int = 16) -> str:
    """A kernel over tiles of rows of x[M, N]."""
    lines = "\n".join(f"            {line}" for line in body.strip().split("\n"))
    return f"""
@kernel
def k({ins}, {outs}):
    for m in grid(M, {m}):
        for n in grid(N, {n}):
{lines}
"""


def _whole_rows(ins: str, outs: str, body: str, m: int = 3) -> str:
    """A kernel over tiles of whole rows."""
    lines = "\n".join(f"        {line}" for line in body.strip().split("\n"))
    return f"""
@kernel
def k({ins}, {outs}):
    for m in grid(M, {m}):
        n = whole(N)
{lines}
"""


X = 'x: In["f32", "M", "N"]'
Y = 'y: Out["f32", "M", "N"]'
NANS = torch.tensor([[1.0, float("nan"), 3.0, -2.0, 3.0] * 5, [float("-inf")] * 25, [2.0, 2.0, -7.0, -7.0, 0.0] * 5])


def cases() -> list[Case]:
    x, z = _randn(7, 37), _randn(7, 37, seed=9)
    found: list[Case] = []

    def add(name: str, text: str, *inputs: Tensor | float, **more: object) -> None:
        found.append(Case(name, text, inputs, **more))  # type: ignore[arg-type]

    # --- elementwise ---
    add("unary", _rows(X, Y, "t = load(x[m, n])\nstore(y[m, n], -abs(t) * 2 + sqrt(t * t + 1) - floor(t) ** 2 / 3)"), x)
    add("libm", _rows(X, Y, "t = load(x[m, n])\nstore(y[m, n], exp(t) + sin(t) * erf(t) + gelu(t) + log1p(abs(t)) + tanh(t) + silu(t) + t ** 3)"), x)
    add("broadcast", _rows(f'{X}, b: In["f32", "N"], c: In["f32", "M"], s: In["f32"]', Y,
        "store(y[m, n], load(x[m, n]) * load(b[n]) + load(c[m]) - load(s))"), x, _randn(37), _randn(7), torch.tensor(0.7))
    for torch_dtype, name in ((torch.float64, "f64"), (torch.float16, "f16"), (torch.bfloat16, "bf16")):
        add(f"float_{name}", _rows(X.replace("f32", name), Y.replace("f32", name),
            "t = load(x[m, n])\nstore(y[m, n], where(t > 0, t * 1.5 + 2, exp(t) / 3) - relu(t))"), x.to(torch_dtype))
    for torch_dtype, name in ((torch.int64, "i64"), (torch.int32, "i32"), (torch.int16, "i16"), (torch.int8, "i8"), (torch.uint8, "u8")):
        low = 1 if name == "u8" else -50
        add(f"int_{name}", _rows(X.replace("f32", name), Y.replace("f32", name),
            "t = load(x[m, n])\nstore(y[m, n], (t * t + t // 3 - t % 5) ^ (t & 12) | maximum(t, 3) << 1)"),
            _ints(7, 37, low=low, dtype=torch_dtype))
    add("bools", _rows(f'{X}, z: In["f32", "M", "N"], b: In["bool", "M", "N"]', 'y: Out["bool", "M", "N"], w: Out["i32", "M", "N"]',
        "p = load(x[m, n]) > load(z[m, n])\nq = load(b[m, n])\nstore(y[m, n], (p and not q) | (p ^ q) & (load(x[m, n]) != 0))\nstore(w[m, n], i32(p) + i32(q))"),
        x, z, _ints(7, 37, low=0, high=2).bool())
    add("casts", _rows('x: In["f32", "M", "N"]', 'a: Out["i32", "M", "N"], b: Out["f16", "M", "N"], c: Out["f64", "M", "N"], d: Out["u8", "M", "N"], e: Out["bool", "M", "N"]',
        "t = load(x[m, n]) * 10\nstore(a[m, n], t)\nstore(b[m, n], t)\nstore(c[m, n], f64(t) / 3)\nstore(d[m, n], abs(t))\nstore(e[m, n], floor(t))"), x)
    add("int_division", _rows('x: In["i64", "M", "N"], z: In["i64", "M", "N"]', 'y: Out["i64", "M", "N"], w: Out["f32", "M", "N"]',
        "a, b = load(x[m, n]), load(z[m, n])\nstore(y[m, n], a // b * 100 + a % b)\nstore(w[m, n], a / b)".replace("a, b = load(x[m, n]), load(z[m, n])", "a = load(x[m, n])\nb = load(z[m, n])")),
        _ints(7, 37), _ints(7, 37, low=1, high=9) * torch.tensor([1, -1] * 18 + [1]))
    add("numbers", _rows(X, Y, "store(y[m, n], load(x[m, n]) * (1.0 / N) + N / 7 + m * 100 + n // 3 - begin(n) + size(m) * end(m))"), x)
    add("nans", _whole_rows(X, 'y: Out["f32", "M", "N"], b: Out["bool", "M", "N"]',
        "t = load(x[m, n])\nstore(y[m, n], maximum(t, 0.5) + minimum(t, 2) + clamp(t, -1, 1) + relu(t))\nstore(b[m, n], isnan(t) | isinf(t))"), NANS)
    add("rounded", _rows(X, Y, 'high, low = split_float(load(x[m, n]), "bf16")\nstore(y[m, n], f32(high) + f32(low) + round_to(load(x[m, n]), "f16"))'), x)
    add("random", _rows('seed: In["i64"], ' + X, Y, "store(y[m, n], rand(load(seed), m * N + n) + load(x[m, n]) * 0)"), torch.tensor(12345678901), x)

    # --- places ---
    add("transpose", _rows(X, 'y: Out["f32", "N", "M"]', "store(y[n, m], load(x[m, n]) * 2, stream=True)", m=32, n=32), _randn(45, 70))
    add("reversed", _rows(X, Y, "store(y[m, n], load(x[m, N - 1 - n]))"), x)
    add("strided", _rows('x: In["f32", "M", "3*N + 2"], b: In["f32", "N"]', Y, "store(y[m, n], load(x[m, 3 * n + 1]) + load(b[n]))"),
        _randn(4, 3 * 37 + 2), _randn(37))
    add("shifted", _rows(X, Y, "store(y[m, n], load(x[m, n - 5], other=7) + load(x[m - 1, n + 30]))"), x)
    add("gather", _rows('x: In["f32", "V", "W"], i: In["i64", "M"], j: In["i64", "N"]', 'y: Out["f32", "M", "N"]',
        "store(y[m, n], load(x[load(i[m]), load(j[n])], other=-1))"), _randn(11, 9), _ints(7, low=-2, high=13), _ints(37, low=-2, high=11))
    add("digits", """
@kernel
def k(x: In["f32", "B", "C", "S"], w: In["f32", "C"], y: Out["f32", "B", "C", "S"], z: Out["f32", "C", "B", "S"]):
    for p in grid(B * C * S, 40):
        b, c, s = split(p, (B, C, S))
        t = load(x[b, c, s]) * load(w[c])
        store(y[b, c, s], t + s)
        store(z[c, b, s], t)
""", _randn(3, 5, 13), _randn(5))
    add("padded", """
@kernel
def k(x: In["f32", "C", "H", "W"], y: Out["f32", "C", "H", "W"], P: Const = 1):
    for c in grid(C, 1):
        for h in grid(H, 3):
            for w in grid(W, 32):
                i, j = whole(3), whole(3)
                store(y[c, h, w], reduce_max(load(x[c, h + i - P, w + j - P], other=-inf), (i, j)))
""".replace("i, j = whole(3), whole(3)", "i = whole(3)\n                j = whole(3)"), _randn(2, 7, 37))
    add("scatter", """
@kernel
def k(i: In["i64", "N"], x: In["f32", "N"], y: Out["f32", "N"]):
    for n in grid(N, 24):
        store(y[load(i[n])], load(x[n]))
""", torch.randperm(37, generator=torch.Generator().manual_seed(1)), _randn(37))
    add("atomics", """
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
""", _ints(200, low=-1, high=12), _randn(200))

    # --- reductions ---
    every = "t = load(x[m, n])\nstore(a[m], reduce_sum(t, n))\nstore(b[m], reduce_max(t, n))\nstore(c[m], reduce_min(t, n) + reduce_prod(1 + t / 99, n))\nstore(d[m], reduce_any(t > 2, n))\nstore(e[m], argmax(t, n))\nstore(f[m], argmin(t, n))\nstore(g[m], first(t, n) - last(t, n))"
    results = 'a: Out["f32", "M"], b: Out["f32", "M"], c: Out["f32", "M"], d: Out["bool", "M"], e: Out["i64", "M"], f: Out["i64", "M"], g: Out["f32", "M"]'
    add("reduce_rows", _whole_rows(X, results, every), _randn(7, 300))
    add("reduce_nans", _whole_rows(X, results, every), NANS)
    columns = every.replace("x[m, n]", "x[n, m]")
    for size, step in ((9, 40), (100, 40), (100, 1)):
        add(f"reduce_columns_{size}_{step}", _whole_rows('x: In["f32", "N", "M"]', results, columns, m=step), _randn(size, 45))
    add("reduce_ints", _whole_rows('x: In["i32", "M", "N"]', 'y: Out["i64", "M"], z: Out["i32", "M"], w: Out["i64", "M"], v: Out["bool", "M"]',
        "t = load(x[m, n])\nstore(y[m], reduce_sum(t, n))\nstore(z[m], reduce_max(t, n))\nstore(w[m], reduce_sum(t > 0, n))\nstore(v[m], reduce_all(t > -50, n))"),
        _ints(7, 37, dtype=torch.int32))
    add("reduce_half", _whole_rows('x: In["f16", "M", "N"]', 'y: Out["f16", "M"], z: Out["f16", "M"]',
        "t = load(x[m, n])\nstore(y[m], reduce_sum(t, n))\nstore(z[m], reduce_max(t, n))"), _randn(7, 100).half())
    add("reduce_half_columns", _whole_rows('x: In["f16", "N", "M"]', 'y: Out["f16", "M"], z: Out["f16", "M"]',
        "t = load(x[n, m])\nstore(y[m], reduce_sum(t, n))\nstore(z[m], reduce_max(t, n))", m=40), _randn(100, 45).half())
    add("reduce_middle", """
@kernel
def k(x: In["f32", "A", "N", "C", "E"], y: Out["f32", "A", "C"], z: Out["i64", "A", "C", "E"]):
    for a in grid(A, 2):
        for c in grid(C, 3):
            n = whole(N)
            e = whole(E)
            t = load(x[a, n, c, e])
            store(y[a, c], reduce_sum(t, (n, e)))
            store(z[a, c, e], argmax(t, n))
""", _randn(3, 20, 5, 21))
    add("reduce_all_of_it", """
@kernel
def k(x: In["f32", "M", "N"], y: Out["f32"], z: Out["f32"]):
    m = whole(M)
    n = whole(N)
    t = load(x[m, n])
    store(y, reduce_sum(t * t, (m, n)) / (M * N))
    store(z, reduce_max(reduce_sum(t, n), m))
""", _randn(13, 37))
    add("softmax_columns", _whole_rows('x: In["f32", "N", "M"]', 'y: Out["f32", "N", "M"]',
        "t = load(x[n, m])\ne = exp(t - reduce_max(t, n))\nstore(y[n, m], e / reduce_sum(e, n))", m=32), _randn(60, 45))
    add("softmax_rows", _whole_rows(X, Y, "t = load(x[m, n])\ne = exp(t - reduce_max(t, n))\nstore(y[m, n], e / reduce_sum(e, n))", m=4), _randn(7, 1300))
    add("both_ways", """
@kernel
def k(x: In["f32", "M", "N"], y: Out["f32", "M"], z: Out["f32", "N"]):
    m = whole(M)
    n = whole(N)
    t = load(x[m, n])
    store(y[m], reduce_sum(t, n))
    store(z[n], reduce_sum(t * t, m))
""", x)

    # --- scans ---
    scans = "t = load(x[m, n])\nstore(a[m, n], scan_sum(t, n))\nstore(b[m, n], scan_max(t, n, reverse=True))\nstore(c[m, n], scan_prod(1 + t / 50, n, reverse=True) + scan_min(t, n))"
    kept = 'a: Out["f32", "M", "N"], b: Out["f32", "M", "N"], c: Out["f32", "M", "N"]'
    add("scan_rows", _whole_rows(X, kept, scans), _randn(7, 75))
    for step in (1, 40):
        add(f"scan_columns_{step}", _whole_rows('x: In["f32", "N", "M"]', kept.replace('"M", "N"', '"N", "M"'), scans.replace("[m, n]", "[n, m]"), m=step), _randn(50, 45))
    add("scan_ints", _whole_rows('x: In["i32", "M", "N"]', 'y: Out["i64", "M", "N"]', "store(y[m, n], scan_sum(load(x[m, n]), n))"), _ints(3, 75, dtype=torch.int32))

    # --- products ---
    for name, dtype, out, made in (
        ("f32", "f32", "f32", lambda *s: _randn(*s)),
        ("f64", "f64", "f64", lambda *s: _randn(*s).double()),
        ("bf16", "bf16", "f32", lambda *s: _randn(*s).bfloat16()),
        ("i64", "i64", "i64", lambda *s: _ints(*s)),
    ):
        add(f"dot_{name}", f"""
@kernel
def k(a: In["{dtype}", "M", "K"], b: In["{dtype}", "N", "K"], y: Out["{out}", "M", "N"]):
    for m in grid(M, 32):
        for n in grid(N, 32):
            acc = zeros([m, n], "{out}")
            for k in tiles(K, 24):
                acc = dot(load(a[m, k]), load(b[n, k]), over=k, into=acc)
            store(y[m, n], acc)
""", made(45, 50), made(37, 50))
    add("dot_transposed_out", """
@kernel
def k(a: In["f32", "K", "M"], b: In["f32", "K", "N"], y: Out["f32", "N", "M"]):
    for m in grid(M, 32):
        for n in grid(N, 32):
            k = whole(K)
            store(y[n, m], tanh(dot(load(a[k, m]), load(b[k, n]), over=k)))
""", _randn(50, 45), _randn(50, 37))
    add("dot_batched", """
@kernel
def k(a: In["f32", "B", "M", "K"], b: In["f32", "B", "K", "N"], y: Out["f32", "B", "M", "N"]):
    for b_ in grid(B, 2):
        for m in grid(M, 16):
            n = whole(N)
            k = whole(K)
            store(y[b_, m, n], dot(load(a[b_, m, k]) * 2, relu(load(b[b_, k, n])), over=k))
""", _randn(3, 20, 11), _randn(3, 11, 21))
    add("dot_two_axes", """
@kernel
def k(a: In["f32", "M", "P", "Q"], b: In["f32", "N", "Q", "P"], y: Out["f32", "M", "N"]):
    for m in grid(M, 16):
        n = whole(N)
        p = whole(P)
        q = whole(Q)
        store(y[m, n], dot(load(a[m, p, q]), load(b[n, q, p]), over=(p, q)))
""", _randn(20, 3, 11), _randn(21, 11, 3))
    add("dot_wide_sides", """
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
""", _randn(3, 9, 20), _randn(20, 3, 18))
    add("matvec", """
@kernel
def k(a: In["f32", "M", "K"], v: In["f32", "K"], y: Out["f32", "M"]):
    for m in grid(M, 16):
        acc = zeros([m])
        for k in tiles(K, 32):
            acc = dot(load(a[m, k]), load(v[k]), over=k, into=acc)
        store(y[m], acc)
""", _randn(45, 100), _randn(100))
    add("row_times_matrix", """
@kernel
def k(a: In["f32", "M", "K"], b: In["f32", "K", "N"], y: Out["f32", "M", "N"]):
    for m in grid(M, 1):
        for n in grid(N, 40):
            k = whole(K)
            store(y[m, n], dot(load(a[m, k]), load(b[k, n]), over=k))
""", _randn(3, 50), _randn(50, 70))
    add("triangle", """
@kernel
def k(a: In["f32", "N", "N"], b: In["f32", "N", "N"], y: Out["f32", "N", "N"]):
    for m in grid(N, 16):
        for n in grid(N, 16):
            acc = zeros([m, n])
            for k in tiles(N, 16, start=begin(n), stop=end(m)):
                left = load(a[m, k])
                acc = dot(where(k <= m, left, 0.0), where(n <= k, load(b[k, n]), 0.0), over=k, into=acc)
            store(y[m, n], acc)
""", _randn(45, 45), _randn(45, 45))

    # --- control ---
    add("branches", _rows(X, Y, "t = load(x[m, n])\nif begin(n) > 0 and end(m) < M:\n    t = t * 2\nelse:\n    t = t + 100\nstore(y[m, n], t)", m=1), x)
    add("tiles_forms", """
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
""", x)
    add("ranges", """
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
""", x)
    add("recurrence", """
@kernel
def k(x: In["f32", "T", "N"], y: Out["f32", "T", "N"], z: Out["f32", "N"]):
    for n in grid(N, 20):
        h = zeros([n])
        for t in range(T):
            old = h
            h = tanh(load(x[t, n]) + 0.5 * h) + old * 0.1
            store(y[t, n], h)
        store(z[n], h)
""", _randn(9, 45))
    add("two_grids", """
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
""", x)
    add("scratch", """
@kernel
def k(x: In["f32", "M", "N"], s: Scratch["f32", "M", "N"], y: Out["f32", "M", "N"]):
    for m in grid(M, 1):
        n = whole(N)
        store(s[m, n], exp(load(x[m, n])))
        store(y[m, n], load(s[m, N - 1 - n]) + load(s[m, n]))
""", x)
    add("meet", """
@kernel
def k(x: In["f32", "M", "N"], y: Out["f32", "M", "N"], z: Out["f32", "M"]):
    for m in grid(M, 2):
        for g in grid(4, 1, together=True):
            c = N // 4
            n = whole(N // 4)
            t = load(x[m, begin(g) * c + n])
            peak = meet_max(reduce_max(t, n), g)
            total = meet_sum(reduce_sum(exp(t - peak), n), g)
            store(y[m, begin(g) * c + n], exp(t - peak) / total)
            if begin(g) == 0:
                store(z[m], total)
""", _randn(5, 40))
    add("unit_sizes", _whole_rows(X, 'y: Out["f32", "M", "N"], z: Out["i64", "M"]', "t = load(x[m, n])\nstore(y[m, n], t / reduce_sum(t, n) + scan_sum(t, n))\nstore(z[m], argmax(t, n))"), _randn(5, 1))
    add("empty", _whole_rows(X, 'y: Out["f32", "M"], z: Out["f32", "M", "N"]', "t = load(x[m, n])\nstore(y[m], reduce_sum(t, n))\nstore(z[m, n], t)"), torch.zeros(5, 0))
    return found
