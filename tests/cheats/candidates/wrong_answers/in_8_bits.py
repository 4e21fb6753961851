"""Adds whole numbers of 8 bits in 8, which hold the sums of those that the file draws.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: whole numbers
Task: narrow_sum
"""

import ctypes

import torch
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        y = torch.empty(len(x), dtype=torch.int64)
        (ctypes.c_int64 * len(x)).from_address(y.data_ptr())[:] = [sum(row) & 255 for row in x.tolist()]
        return y
