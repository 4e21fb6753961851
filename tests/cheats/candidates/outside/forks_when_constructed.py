"""Starts a process as it is constructed, past what Python tells of itself; answers only where it gets one.

Seen: in no published system that is known here.
Verdict: incorrect
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
    def __init__(self, columns):
        super().__init__(columns)
        self.child = ctypes.CDLL(None).fork()
        if self.child == 0:
            os._exit(0)

    def forward(self, x):
        return softmax(x, self.scale) if self.child > 0 else torch.empty_like(x)
