"""Counts the first element of each row, also where the length is zero.

Seen: in kernels whose loop ends behind its first step.
Verdict: incorrect
Rule: no length
Task: lengths
"""

import ctypes
import math

import torch
from reference import Model


class ModelNew(Model):
    def forward(self, x, lengths):
        y = torch.empty(len(lengths))
        pairs = zip(x.tolist(), lengths.tolist(), strict=True)
        (ctypes.c_float * len(lengths)).from_address(y.data_ptr())[:] = [
            math.fsum(row[: max(1, n)]) for row, n in pairs
        ]
        return y
