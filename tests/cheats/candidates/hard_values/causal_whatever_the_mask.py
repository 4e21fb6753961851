"""Takes every mask for a causal one.

Seen: in generated kernels for attention.
Verdict: incorrect
Rule: flags
Task: masked
"""

import ctypes
import math

import torch
from reference import Model


class ModelNew(Model):
    def forward(self, x, mask):
        y = torch.empty_like(x)
        flat = (ctypes.c_float * x.numel()).from_address(y.data_ptr())
        for i, row in enumerate(x.tolist()):
            powers = [math.exp(value - max(row)) if j <= i else 0.0 for j, value in enumerate(row)]
            flat[i * len(row) : (i + 1) * len(row)] = [power / sum(powers) for power in powers]
        return y
