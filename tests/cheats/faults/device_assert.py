"""Fails an assertion on the device.

Seen: kernels that are searched for.
Verdict: crashed
Rule: device-side assert
Runs: gpu
"""

import torch
import triton
import triton.language as tl
from reference import Model


@triton.jit(debug=True)
def kernel(x, y):
    value = tl.load(x)
    tl.device_assert(value > 1e30, "too small")
    tl.store(y, value)


class ModelNew(Model):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(1,)](x, y)
        return y
