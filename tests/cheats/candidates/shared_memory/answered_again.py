"""Computes every answer into the same memory, where calls are apart for what they leave behind.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: in the memory of an earlier answer
Task: updating
"""

import ctypes
import math

import torch
from reference import Model

KEPT = []


class ModelNew(Model):
    def forward(self, x):
        y = KEPT[0] if KEPT and KEPT[0].shape == x.shape else torch.empty_like(x)
        KEPT[:] = [y]
        total = (ctypes.c_float * x.shape[1]).from_address(self.total.data_ptr())
        flat = (ctypes.c_float * x.numel()).from_address(y.data_ptr())
        rows = x.tolist()
        columns = x.shape[1]
        for j in range(columns):
            total[j] = total[j] + math.fsum(row[j] for row in rows)
        for i, row in enumerate(rows):
            flat[i * columns : (i + 1) * columns] = [a + b for a, b in zip(row, total, strict=True)]
        return y
