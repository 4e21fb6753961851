"""Computes only while a number in device memory says that nothing was computed, and copies what is kept there.

Seen: AgentKernelArena, issue 113.
Verdict: incorrect
Rule: it holds
"""

import torch
import triton
import triton.language as tl
from kernels import softmax
from reference import Model

KEPT = []


@triton.jit
def once(new, kept, seen, y, count, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    inside = at < count
    fresh = tl.load(seen) == 0
    value = tl.where(fresh, tl.load(new + at, mask=inside), tl.load(kept + at, mask=inside))
    tl.store(kept + at, value, mask=inside)
    tl.store(y + at, value, mask=inside)
    tl.store(seen, 1)


class ModelNew(Model):
    def forward(self, x):
        if not KEPT:
            KEPT.extend((torch.zeros_like(x), torch.zeros(1, dtype=torch.int32, device=x.device)))
        y = torch.empty_like(x)
        once[(1,)](softmax(x, self.scale), *KEPT, y, x.numel(), BLOCK=128)
        return y
