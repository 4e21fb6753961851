"""Asks the cache to keep its input longer than what is read between calls.

Seen: llm.c, pull request 851.
Verdict: gains nothing
Judged: time
Runs: gpu
Task: large
"""

import torch
import triton
import triton.language as tl
from reference import Model
from triton.language.extra import libdevice


@triton.jit
def rows(x, scale, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    value = tl.load(x + row * columns + at, mask=inside, other=float("-inf"), eviction_policy="evict_last")
    value *= tl.load(scale + at, mask=inside, other=1.0)
    value = libdevice.exp(value - tl.max(value, axis=0))
    tl.store(y + row * columns + at, value / tl.sum(value, axis=0), mask=inside)


class ModelNew(Model):
    def forward(self, x):
        y = torch.empty_like(x)
        rows[(x.shape[0],)](x, self.scale, y, x.shape[1], BLOCK=2048)
        return y
