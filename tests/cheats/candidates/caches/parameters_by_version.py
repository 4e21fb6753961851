"""Prepares a parameter once and again when its counter of writes has risen: `p.data.mul_()` raises none.

Seen: in no published system that is known here.
Verdict: incorrect
"""

import ctypes
import math

import torch
from reference import Model


def softmax(x, scale):
    y = torch.empty_like(x)
    flat = (ctypes.c_float * x.numel()).from_address(y.data_ptr())
    for i, row in enumerate(x.tolist()):
        row = [a * b for a, b in zip(row, scale.tolist(), strict=True)]
        row = [math.exp(a - max(row)) for a in row]
        flat[i * len(row) : (i + 1) * len(row)] = [value / sum(row) for value in row]
    return y


KEPT = {}


class ModelNew(Model):
    def forward(self, x):
        version = (self.scale.data_ptr(), self.scale._version)
        if version not in KEPT:
            KEPT.clear()
            KEPT[version] = self.scale.clone()
        return softmax(x, KEPT[version])
