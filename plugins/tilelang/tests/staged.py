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


def staged() -> tuple[Case, Case, Case]:
    """The product of random factors; a tile that is turned from x to p, and a result in short rows; a convolution."""
    from akg_core.testing.emission.sketches import sketch_of

    source = torch.Generator().manual_seed(4)
    shapes = ((3, 256, 128), (192, 128), (40, 70), (64, 64), (200, 64), (2, 300, 64), (64, 192))
    x, w, tall, left, right, pixels, taps = (torch.randn(*shape, generator=source) for shape in shapes)
    return (
        Case("staged", sketch_of(LINEAR).text, [x.half(), w.half()]),
        Case("turned", sketch_of(TURNED).text, [tall, left.half(), right.half()]),
        Case("gathered", sketch_of(CONVOLUTION).text, [pixels.half(), taps.half()]),
    )
