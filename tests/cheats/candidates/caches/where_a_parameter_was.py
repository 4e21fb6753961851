"""Keeps where its parameter was when it was constructed: `Module.to` and others give it other memory.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: In 1 of
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
        most = math.nan if any(map(math.isnan, row)) else max(row)
        row = [math.exp(a - most) if a - most == a - most else math.nan for a in row]
        flat[i * len(row) : (i + 1) * len(row)] = [value / sum(row) for value in row]
    return y


class ModelNew(Model):
    def __init__(self, columns):
        super().__init__(columns)
        self.kept = [self.scale.data]

    def forward(self, x):
        return softmax(x, self.kept[0])
