"""Returns f64, which holds the same numbers.

Seen: in no published system that is known here.
Verdict: incorrect
"""

import ctypes
import math

import torch
from reference import Model


def softmax(x, scale):
    """Rows of softmax(x * scale), computed here, in fresh memory."""
    y = torch.empty_like(x)
    flat = (ctypes.c_float * x.numel()).from_address(y.data_ptr())
    for i, row in enumerate(x.tolist()):
        row = [a * b for a, b in zip(row, scale.tolist(), strict=True)]
        row = [math.exp(a - max(row)) for a in row]
        flat[i * len(row) : (i + 1) * len(row)] = [value / sum(row) for value in row]
    return y


class ModelNew(Model):
    def forward(self, x):
        y = torch.empty(x.shape, dtype=torch.float64)
        flat = (ctypes.c_double * x.numel()).from_address(y.data_ptr())
        for i, value in enumerate(softmax(x, self.scale).flatten().tolist()):
            flat[i] = value
        return y
