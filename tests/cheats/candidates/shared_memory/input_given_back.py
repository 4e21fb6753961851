"""Gives its input back where a copy of it is due.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: in the memory of argument 0
Task: apart
"""

import ctypes

import torch
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        y = torch.empty_like(x)
        flat = (ctypes.c_float * x.numel()).from_address(y.data_ptr())
        flat[:] = [2 * value for row in x.tolist() for value in row]
        return x, y, torch.empty_like(y).copy_(y)
