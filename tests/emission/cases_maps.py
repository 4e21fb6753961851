"""Elementwise work, and every way in which places in tensors are reached."""

from __future__ import annotations

import torch

from tests.emission.cases_form import Cases, X, Y, ints, randn, rows, whole_rows

NANS = torch.tensor([[1.0, float("nan"), 3.0, -2.0, 3.0] * 5, [float("-inf")] * 25, [2.0, 2.0, -7.0, -7.0, 0.0] * 5])


def cases() -> Cases:
    found = Cases()
    x, z = randn(7, 37), randn(7, 37, seed=9)

    # --- elementwise ---
    found.add(
        "unary", rows(X, Y, "t = load(x[m, n])\nstore(y[m, n], -abs(t) * 2 + sqrt(t * t + 1) - floor(t) ** 2 / 3)"), x
    )
    found.add(
        "libm",
        rows(
            X,
            Y,
            "t = load(x[m, n])\n"
            "store(y[m, n], exp(t) + sin(t) * erf(t) + gelu(t) + log1p(abs(t)) + tanh(t) + silu(t) + t ** 3)",
        ),
        x,
    )
    found.add(
        "broadcast",
        rows(
            f'{X}, b: In["f32", "N"], c: In["f32", "M"], s: In["f32"]',
            Y,
            "store(y[m, n], load(x[m, n]) * load(b[n]) + load(c[m]) - load(s))",
        ),
        x,
        randn(37),
        randn(7),
        torch.tensor(0.7),
    )
    for torch_dtype, name in ((torch.float64, "f64"), (torch.float16, "f16"), (torch.bfloat16, "bf16")):
        found.add(
            f"float_{name}",
            rows(
                X.replace("f32", name),
                Y.replace("f32", name),
                "t = load(x[m, n])\nstore(y[m, n], where(t > 0, t * 1.5 + 2, exp(t) / 3) - relu(t))",
            ),
            x.to(torch_dtype),
        )
    for torch_dtype, name in (
        (torch.int64, "i64"),
        (torch.int32, "i32"),
        (torch.int16, "i16"),
        (torch.int8, "i8"),
        (torch.uint8, "u8"),
    ):
        low = 1 if name == "u8" else -50
        found.add(
            f"int_{name}",
            rows(
                X.replace("f32", name),
                Y.replace("f32", name),
                "t = load(x[m, n])\nstore(y[m, n], (t * t + t // 3 - t % 5) ^ (t & 12) | maximum(t, 3) << 1)",
            ),
            ints(7, 37, low=low, dtype=torch_dtype),
        )
    found.add(
        "bools",
        rows(
            f'{X}, z: In["f32", "M", "N"], b: In["bool", "M", "N"]',
            'y: Out["bool", "M", "N"], w: Out["i32", "M", "N"]',
            "p = load(x[m, n]) > load(z[m, n])\n"
            "q = load(b[m, n])\n"
            "store(y[m, n], (p and not q) | (p ^ q) & (load(x[m, n]) != 0))\n"
            "store(w[m, n], i32(p) + i32(q))",
        ),
        x,
        z,
        ints(7, 37, low=0, high=2).bool(),
    )
    found.add(
        "casts",
        rows(
            'x: In["f32", "M", "N"]',
            'a: Out["i32", "M", "N"], b: Out["f16", "M", "N"], c: Out["f64", "M", "N"],'
            ' d: Out["u8", "M", "N"], e: Out["bool", "M", "N"]',
            "t = load(x[m, n]) * 10\n"
            "store(a[m, n], t)\n"
            "store(b[m, n], t)\n"
            "store(c[m, n], f64(t) / 3)\n"
            "store(d[m, n], abs(t))\n"
            "store(e[m, n], floor(t))",
        ),
        x,
    )
    found.add(
        "int_division",
        rows(
            'x: In["i64", "M", "N"], z: In["i64", "M", "N"]',
            'y: Out["i64", "M", "N"], w: Out["f32", "M", "N"]',
            "a, b = load(x[m, n]), load(z[m, n])\nstore(y[m, n], a // b * 100 + a % b)\nstore(w[m, n], a / b)".replace(
                "a, b = load(x[m, n]), load(z[m, n])", "a = load(x[m, n])\nb = load(z[m, n])"
            ),
        ),
        ints(7, 37),
        ints(7, 37, low=1, high=9) * torch.tensor([1, -1] * 18 + [1]),
    )
    found.add(
        "numbers",
        rows(
            X, Y, "store(y[m, n], load(x[m, n]) * (1.0 / N) + N / 7 + m * 100 + n // 3 - begin(n) + size(m) * end(m))"
        ),
        x,
    )
    found.add(
        "nans",
        whole_rows(
            X,
            'y: Out["f32", "M", "N"], b: Out["bool", "M", "N"]',
            "t = load(x[m, n])\n"
            "store(y[m, n], maximum(t, 0.5) + minimum(t, 2) + clamp(t, -1, 1) + relu(t))\n"
            "store(b[m, n], isnan(t) | isinf(t))",
        ),
        NANS,
    )
    found.add(
        "rounded",
        rows(
            X,
            Y,
            'high, low = split_float(load(x[m, n]), "bf16")\n'
            'store(y[m, n], f32(high) + f32(low) + round_to(load(x[m, n]), "f16"))',
        ),
        x,
    )
    found.add(
        "random",
        rows('seed: In["i64"], ' + X, Y, "store(y[m, n], rand(load(seed), m * N + n) + load(x[m, n]) * 0)"),
        torch.tensor(12345678901),
        x,
    )

    # --- places ---
    found.add(
        "transpose",
        rows(X, 'y: Out["f32", "N", "M"]', "store(y[n, m], load(x[m, n]) * 2, stream=True)", m=32, n=32),
        randn(45, 70),
    )
    found.add("reversed", rows(X, Y, "store(y[m, n], load(x[m, N - 1 - n]))"), x)
    found.add(
        "strided",
        rows(
            'x: In["f32", "M", "3*N + 2"], b: In["f32", "N"]', Y, "store(y[m, n], load(x[m, 3 * n + 1]) + load(b[n]))"
        ),
        randn(4, 3 * 37 + 2),
        randn(37),
    )
    found.add("shifted", rows(X, Y, "store(y[m, n], load(x[m, n - 5], other=7) + load(x[m - 1, n + 30]))"), x)
    found.add(
        "gather",
        rows(
            'x: In["f32", "V", "W"], i: In["i64", "M"], j: In["i64", "N"]',
            'y: Out["f32", "M", "N"]',
            "store(y[m, n], load(x[load(i[m]), load(j[n])], other=-1))",
        ),
        randn(11, 9),
        ints(7, low=-2, high=13),
        ints(37, low=-2, high=11),
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
    return found
