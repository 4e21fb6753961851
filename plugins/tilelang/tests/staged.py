"""Products whose factors are loaded ahead, tiles that lie otherwise in memory: as sketches, and as cases."""

from __future__ import annotations

import torch

from akg_core.testing.emission.running import Case

LINEAR = """
@kernel
def linear(x: In["f16", 3, 256, 128], w: In["f16", 192, 128], y: Out["f16", 3, 256, 192]):
    for b in grid(3):
        for m in grid(256, 128):
            for n in grid(192, 64):
                acc = zeros([b, m, n])
                for k in tiles(128, 32, stages=3):
                    acc = dot(load(x[b, m, k]), load(w[n, k]), over=k, into=acc)
                store(y[b, m, n], maximum(acc, 0.0))
"""
TURNED = """
@kernel
def turned(x: In["f32", 40, 70], w: In["f16", 64, 64], z: In["f16", 200, 64], p: Out["f16", 70, 40],
           y: Out["f32", 64, 200]):
    for n in grid(70, 32):
        for c in grid(40, 32):
            t = load(x[c, n])
            store(p[n, c], f16(t * 0.5))
    for i in grid(64, 64):
        for j in grid(200, 128):
            acc = zeros([i, j], "f32")
            for k in tiles(64, 32):
                acc = dot(load(w[i, k]), load(z[j, k]), over=k, into=acc)
            store(y[i, j], acc * 2.0)
"""
FEW_ROWS = """
@kernel
def few(w: In["f16", 16, 48], x: In["f16", 48, 200], y: Out["f32", 16, 200], z: Out["f32", 4]):
    m = whole(16)
    for n in grid(200, 64):
        acc = zeros([m, n], "f32")
        for k in tiles(48, 16):
            acc = dot(load(w[m, k]), load(x[k, n]), over=k, into=acc)
        store(z[begin(n) // 64], reduce_max(abs(acc), (m, n)))
        store(y[m, n], acc)
"""
CONVOLUTION = """
@kernel
def convolution(x: In["f16", 2, 300, 64], w: In["f16", 64, 192], y: Out["f32", 2, 64, 298]):
    for b in grid(2):
        for m in grid(64, 64):
            for n in grid(298, 128):
                acc = zeros([b, m, n], "f32")
                for k in tiles(192, 64):
                    acc = dot(load(w[m, k]), load(x[b, n + k // 64, k % 64]), over=k, into=acc)
                store(y[b, m, n], acc)
"""
WINDOWS = """
@kernel
def convolution(x: In["f16", 3, 17, 19, 32], w: In["f16", 64, 288], y: Out["f16", 270, 64]):
    for m in grid(64, 64):
        for n in grid(270, 128):
            acc = zeros([m, n], "f32")
            for k in tiles(288, 32):
                window = load(x[n // 90, n // 10 % 9 * 2 + k // 96 - 1, n % 10 * 2 + k % 96 // 32 - 1, k % 32])
                acc = dot(load(w[m, k]), window, over=k, into=acc)
            store(y[n, m], f16(acc))
"""
ATTENTION = """
@kernel
def attention(q: In["f16", 2, 256, 64], k: In["f16", 2, 384, 64], v: In["f16", 2, 384, 128], y: Out["f16", 2, 256, 128],
              BM: Tune[32, 128, 192] = 128, BN: Tune[32, 128, 192] = 128):
    for b in grid(2):
        for m in grid(256, BM):
            f = whole(128)
            e = whole(64)
            queries = load(q[b, m, e])
            peak = full([b, m], -inf, "f32")
            total = zeros([b, m], "f32")
            acc = zeros([b, m, f], "f32")
            for n in tiles(384, BN, stages=2):
                product = dot(queries, load(k[b, n, e]), over=e)
                grown = maximum(peak, reduce_max(product, n))
                weights = exp(product - grown, beside_one=True)
                shrink = exp(peak - grown)
                total = total * shrink + reduce_sum(weights, n)
                acc = dot(f16(weights), load(v[b, n, f]), over=n, into=acc * shrink)
                peak = grown
            store(y[b, m, f], f16(acc / total))
"""


def persistent(pixels: int, channels: int = 64) -> str:
    """The windows with tiles of so many pixels and channels, by programs that take one tile after the other."""
    text = WINDOWS.replace("grid(270, 128)", f"grid(270, {pixels}, persistent=True)")
    return text.replace("grid(64, 64)", f"grid(64, {channels})")


def staged() -> tuple[Case, ...]:
    """The product of random factors; a tile that is turned from x to p, and a result in short rows; a product whose few
    rows are columns of matrix units; convolutions, by programs that stay, too;
    attention by matrix units, with tiles that these do not take, with tiles that are no power of two and end behind
    the queries, and with heads that are none."""
    from akg_core.testing.emission.sketches import sketch_of

    source = torch.Generator().manual_seed(4)
    shapes = ((3, 256, 128), (192, 128), (40, 70), (64, 64), (200, 64), (2, 300, 64), (64, 192), (16, 48), (48, 200))
    x, w, tall, left, right, pixels, taps, few, many = (torch.randn(*shape, generator=source) for shape in shapes)
    images, weights = (torch.randn(*shape, generator=source).half() for shape in ((3, 17, 19, 32), (64, 288)))
    attended = [torch.randn(2, *shape, generator=source).half() for shape in ((256, 64), (384, 64), (384, 128))]
    uneven = [torch.randn(2, *shape, generator=source).half() for shape in ((256, 96), (384, 96), (384, 80))]
    return (
        Case("staged", sketch_of(LINEAR).text, [x.half(), w.half()]),
        Case("turned", sketch_of(TURNED).text, [tall, left.half(), right.half()]),
        Case("few_rows", sketch_of(FEW_ROWS).text, [few.half(), many.half()]),
        Case("gathered", sketch_of(CONVOLUTION).text, [pixels.half(), taps.half()]),
        Case("windows", sketch_of(WINDOWS).text, [images, weights], tolerance=2e-3),
        Case("windows_persistent", sketch_of(persistent(64)).text, [images, weights], tolerance=2e-3),
        Case("windows_swizzled", sketch_of(persistent(192, 16)).text, [images, weights], tolerance=2e-3),
        *(
            Case(f"attention_{size}", sketch_of(attention(size)).text, attended, tolerance=2e-3)
            for size in (32, 128, 192)
        ),
        Case("attention_crossed", sketch_of(crossed()).text, attended, tolerance=2e-3),
        Case("attention_96", sketch_of(crossed((96, 80))).text, uneven, tolerance=2e-3),
    )


def attention(size: int, heads: tuple[int, int] = (64, 128)) -> str:
    """Attention with so many queries and keys in a tile, of queries and values that are so long."""
    text = ATTENTION.replace("= 128", f"= {size}")
    for usual, wanted in zip((64, 128), heads, strict=True):
        text = text.replace(f", {usual}]", f", {wanted}]").replace(f"whole({usual})", f"whole({wanted})")
    return text


def crossed(heads: tuple[int, int] = (64, 128)) -> str:
    """Causal attention, of which one loop masks those tiles that the diagonal crosses."""
    text = attention(192, heads).replace("BN: Tune[32, 128, 192] = 192", "BN: Const = 128")
    text = text.replace("tiles(384, BN", "tiles(384, BN, stop=(end(m) + (BN - 1)) // BN * BN")
    mask = "if end(n) > begin(m) + 1:\n                    product = where(n <= m, product, -inf)"
    return text.replace("grown =", f"{mask}\n                grown =")
