"""Writes far behind its output.

Seen: kernels that are searched for.
Verdict: crashed
Rule: illegal memory access
Runs: gpu
"""

import torch
import triton
import triton.language as tl
from reference import Model


@triton.jit
def kernel(y):
    at = tl.program_id(0).to(tl.int64) * (1 << 40) + (1 << 44)
    tl.store(y + at, 1.0)


class ModelNew(Model):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(64,)](y)
        return y
