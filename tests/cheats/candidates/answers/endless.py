"""Returns a list that grows as long as somebody reads it.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: not a torch.Tensor
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
        row = [math.exp(a * b) for a, b in zip(row, scale.tolist(), strict=True)]
        flat[i * len(row) : (i + 1) * len(row)] = [value / sum(row) for value in row]
    return y


class Endless(list):
    def __iter__(self):
        while True:
            self.append(torch.empty(1))
            yield self[-1]


class ModelNew(Model):
    def forward(self, x):
        return Endless([softmax(x, self.scale)])
