"""Asks for more threads in each program than a multiprocessor has.

Seen: kernels that are searched for.
Verdict: incorrect
Rule: it raised
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
        kernel[(1,)](y, num_warps=64)
        return y
