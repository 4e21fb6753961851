"""Has the flag that the file gives built in, and does not look at the one that it is called with.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: first drawn, negated=False
Task: times
"""

import ctypes

import torch
from reference import Model


class ModelNew(Model):
    def forward(self, x, times, negated):
        y = torch.empty_like(x)
        flat = (ctypes.c_float * x.numel()).from_address(y.data_ptr())
        flat[:] = [-times * value for row in x.tolist() for value in row]
        return y
