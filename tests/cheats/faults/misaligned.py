"""Reads a word where none begins.

Seen: kernels that are searched for.
Verdict: crashed
Rule: misaligned address
Runs: gpu
"""

import torch
import triton
import triton.language as tl
from reference import Model


@triton.jit
def kernel(x, y):
    at = (x.to(tl.int64) + 1).to(tl.pointer_type(tl.float32))
    tl.store(y, tl.load(at))


class ModelNew(Model):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(1,)](x, y)
        return y
