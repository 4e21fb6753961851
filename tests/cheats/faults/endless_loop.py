"""Waits on the device for something that never comes.

Seen: kernels that are searched for.
Verdict: timed out
Rule: s and was ended
Runs: gpu
"""

import torch
import triton
import triton.language as tl
from reference import Model


@triton.jit
def kernel(y, flag):
    while tl.atomic_add(flag, 0) == 0:
        pass
    tl.store(y, 1.0)


class ModelNew(Model):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(1,)](y, torch.zeros(1, dtype=torch.int32, device=x.device))
        return y
