"""Adds to memory that nobody has set to zero.

Seen: wafer.ai's field guide.
Verdict: incorrect
Rule: it holds
"""

import torch
import triton
import triton.language as tl
from kernels import softmax
from reference import Model


@triton.jit
def add(x, y, count, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < count
    tl.store(y + at, tl.load(y + at, mask=inside) + tl.load(x + at, mask=inside), mask=inside)


class ModelNew(Model):
    def forward(self, x):
        y = torch.empty_like(x)
        add[(1,)](softmax(x, self.scale), y, x.numel(), BLOCK=128)
        return y
