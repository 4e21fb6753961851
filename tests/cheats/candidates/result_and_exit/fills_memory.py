"""Fills memory that no table of its process shows: files that are nowhere, fifty gigabytes of them.

Seen: in no published system that is known here.
Verdict: crashed|incorrect
"""

import ctypes
import math
import os

import torch
from reference import Model


def softmax(x, scale):
    """Rows of softmax(x * scale), computed here, in fresh memory."""
    y = torch.empty_like(x)
    flat = (ctypes.c_float * x.numel()).from_address(y.data_ptr())
    for i, row in enumerate(x.tolist()):
        row = [math.exp(a * b) for a, b in zip(row, scale.tolist(), strict=True)]
        flat[i * len(row) : (i + 1) * len(row)] = [value / sum(row) for value in row]
    return y


class ModelNew(Model):
    def forward(self, x):
        held = []
        for _ in range(800):
            held.append(os.memfd_create("x"))
            os.write(held[-1], bytes(64 << 20))
        return softmax(x, self.scale)
