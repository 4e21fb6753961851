"""Reads through a pointer that is a small number.

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
def kernel(y, number):
    tl.store(y, tl.load(number.to(tl.int64).to(tl.pointer_type(tl.float32))))


class ModelNew(Model):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(1,)](y, 4096)
        return y
