"""Launches more programs along a dimension than there may be.

Seen: kernels that are searched for.
Verdict: incorrect
Rule: invalid argument
Runs: gpu
"""

import torch
import triton
import triton.language as tl
from reference import Model


@triton.jit
def kernel(y):
    tl.store(y, 1.0)


class ModelNew(Model):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(1, 1 << 20)](y)
        return y
