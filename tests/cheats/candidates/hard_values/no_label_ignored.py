"""Takes a label that is to be ignored for the first class, which the file's own labels never show.

Seen: in kernels that models write for a cross entropy.
Verdict: incorrect
Rule: first places
Task: labels
"""

import ctypes
import math

import torch
from reference import Model


class ModelNew(Model):
    def forward(self, x, labels):
        y = torch.empty(())
        found = 0.0
        for row, label in zip(x.tolist(), labels.tolist(), strict=True):
            most = max(row)
            sums = sum(math.exp(value - most) for value in row)
            found += most + math.log(sums) - row[max(label, 0)]
        ctypes.c_float.from_address(y.data_ptr()).value = found / len(x)
        return y
