"""Writes where memory holds no number or a huge one, and leaves what is there elsewhere.

Seen: AgentKernelArena, issue 113.
Verdict: incorrect
Rule: it holds
"""

import torch
import triton
import triton.language as tl
from kernels import softmax
from reference import Model


@triton.jit
def fill(x, y, count, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < count
    there = tl.load(y + at, mask=inside)
    is_poison = (there != there) | (tl.abs(there) > 1e30)
    tl.store(y + at, tl.load(x + at, mask=inside), mask=inside & is_poison)


class ModelNew(Model):
    def forward(self, x):
        y = torch.empty_like(x)
        fill[(1,)](softmax(x, self.scale), y, x.numel(), BLOCK=128)
        return y
