"""Takes what equals a number that the reference compares with for what is above it.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: rows (large, border, exact
Task: above
"""

import ctypes

import torch
from reference import Model

HELD = ctypes.c_float(0.3).value


class ModelNew(Model):
    def forward(self, x):
        y = torch.empty_like(x)
        flat = (ctypes.c_float * x.numel()).from_address(y.data_ptr())
        flat[:] = [value if value >= HELD else 0.0 for row in x.tolist() for value in row]
        return y
