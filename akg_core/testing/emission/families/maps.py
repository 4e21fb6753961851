"""Elementwise work: arithmetic, functions, dtypes, casts, NaNs."""

from __future__ import annotations

import torch

from akg_core.sketch.interpret.tiles import TORCH
from akg_core.testing.emission.form import NANS, Cases, X, Y, ints, randn


def cases() -> Cases:
    found = Cases()
    x, z = randn(7, 37), randn(7, 37, seed=9)

    found.rows("unary", X, Y, "t = load(x[m, n])\nstore(y[m, n], -abs(t) * 2 + sqrt(t * t + 1) - floor(t) ** 2 / 3)", x)
    found.rows(
        "bits",
        X,
        'y: Out["i32", "M", "N"], z: Out["i64", "M", "N"]',
        "b = bits(load(x[m, n]))\nstore(y[m, n], b ^ ((b >> 31) & 2147483647))\n"
        "store(z[m, n], bits(f64(load(x[m, n]))) >> 3)",
        x,
    )
    found.rows(
        "from_bits",
        X,
        'y: Out["f32", "M", "N"], z: Out["f64", "M", "N"]',
        "t = load(x[m, n])\nb = bits(t)\nstore(y[m, n], from_bits(b ^ ((b >> 31) & 2147483647)))\n"
        "store(z[m, n], from_bits((i64(b) << 32) | i64(t * 8)))",
        x,
    )
    found.rows(
        "libm",
        X,
        Y,
        "t = load(x[m, n])\n"
        "store(y[m, n], exp(t) + sin(t) * erf(t) + gelu(t) + log1p(abs(t)) + tanh(t) + silu(t) + t ** 3)",
        x,
    )
    found.rows(  # bases of 1e-44 and 1e-39 are subnormal
        "power",
        f'{X}, b: In["f32", "M"]',
        Y,
        "store(y[m, n], load(b[m]) ** load(x[m, n]))",
        torch.rand(7, 37, generator=torch.Generator().manual_seed(5)) * 0.1,
        torch.tensor([0.0, 1e-44, 1e-39, 1e-30, 0.5, 3.0, 1e30]),
    )
    found.rows(
        "broadcast",
        f'{X}, b: In["f32", "N"], c: In["f32", "M"], s: In["f32"]',
        Y,
        "store(y[m, n], load(x[m, n]) * load(b[n]) + load(c[m]) - load(s))",
        x,
        randn(37),
        randn(7),
        torch.tensor(0.7),
    )
    for name in ("f64", "f16", "bf16"):
        found.rows(
            f"float_{name}",
            X.replace("f32", name),
            Y.replace("f32", name),
            "t = load(x[m, n])\nstore(y[m, n], where(t > 0, t * 1.5 + 2, exp(t) / 3) - relu(t))",
            x.to(TORCH[name]),
        )
    found.rows(
        "chosen_f64",
        X.replace("f32", "f64"),
        Y.replace("f32", "f64"),
        "t = load(x[m, n])\nstore(y[m, n], t * where(t > 0, f64(0.7), 0.1))",
        x.double(),
    )
    for name in ("i64", "i32", "i16", "i8", "u8"):
        low = 1 if name == "u8" else -50
        found.rows(
            f"int_{name}",
            X.replace("f32", name),
            Y.replace("f32", name),
            "t = load(x[m, n])\nstore(y[m, n], (t * t + t // 3 - t % 5) ^ (t & 12) | ~maximum(t, 3) << 1)",
            ints(7, 37, low=low, dtype=TORCH[name]),
        )
    found.rows(
        "bools",
        f'{X}, z: In["f32", "M", "N"], b: In["bool", "M", "N"]',
        'y: Out["bool", "M", "N"], w: Out["i32", "M", "N"]',
        "p = load(x[m, n]) > load(z[m, n])\n"
        "q = load(b[m, n])\n"
        "store(y[m, n], (p and not q) | (p ^ q) & (load(x[m, n]) != 0))\n"
        "store(w[m, n], i32(p) + i32(q))",
        x,
        z,
        ints(7, 37, low=0, high=2).bool(),
    )
    found.rows(
        "casts",
        'x: In["f32", "M", "N"]',
        'a: Out["i32", "M", "N"], b: Out["f16", "M", "N"], c: Out["f64", "M", "N"],'
        ' d: Out["u8", "M", "N"], e: Out["bool", "M", "N"]',
        "t = load(x[m, n]) * 10\n"
        "store(a[m, n], t)\n"
        "store(b[m, n], t)\n"
        "store(c[m, n], f64(t) / 3)\n"
        "store(d[m, n], abs(t))\n"
        "store(e[m, n], floor(t))",
        x,
    )
    found.rows(
        "int_division",
        'x: In["i64", "M", "N"], z: In["i64", "M", "N"]',
        'y: Out["i64", "M", "N"], w: Out["f32", "M", "N"]',
        "a, b = load(x[m, n]), load(z[m, n])\nstore(y[m, n], a // b * 100 + a % b)\nstore(w[m, n], a / b)".replace(
            "a, b = load(x[m, n]), load(z[m, n])", "a = load(x[m, n])\nb = load(z[m, n])"
        ),
        ints(7, 37),
        ints(7, 37, low=1, high=9) * torch.tensor([1, -1] * 18 + [1]),
    )
    found.rows(
        "numbers",
        X,
        Y,
        "store(y[m, n], load(x[m, n]) * (1.0 / N) + N / 7 + m * 100 + n // 3 - begin(n) + size(m) * end(m))",
        x,
    )
    found.whole_rows(
        "nans",
        X,
        'y: Out["f32", "M", "N"], b: Out["bool", "M", "N"]',
        "t = load(x[m, n])\n"
        "store(y[m, n], maximum(t, 0.5) + minimum(t, 2) + clamp(t, -1, 1) + relu(t))\n"
        "store(b[m, n], isnan(t) | isinf(t))",
        NANS,
    )
    found.rows(
        "rounded",
        X,
        Y,
        'high, low = split_float(load(x[m, n]), "bf16")\n'
        'store(y[m, n], f32(high) + f32(low) + round_to(load(x[m, n]), "f16"))',
        x,
    )
    found.rows(
        "random",
        'seed: In["i64"], ' + X,
        Y,
        "store(y[m, n], rand(load(seed), m * N + n) + load(x[m, n]) * 0)",
        torch.tensor(12345678901),
        x,
    )
    return found
