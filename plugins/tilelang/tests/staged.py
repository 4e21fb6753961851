"""A product whose factors are boxes of their tensors, loaded ahead: as a sketch, and as a case with inputs."""

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


def case() -> Case:
    """The product of random factors."""
    from akg_core.testing.emission.sketches import sketch_of

    x, w = (torch.randn(*shape, generator=torch.Generator().manual_seed(4)) for shape in ((3, 256, 128), (192, 128)))
    return Case("staged", sketch_of(LINEAR).text, [x.half(), w.half()])
