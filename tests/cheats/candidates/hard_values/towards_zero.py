"""Divides whole numbers as C does, towards zero.

Seen: in generated kernels for integer division.
Verdict: incorrect
Rule: whole numbers
Task: quotients
"""

import ctypes

import torch
from reference import Model


class ModelNew(Model):
    def forward(self, x, y):
        pairs = [pair for rows in zip(x.tolist(), y.tolist(), strict=True) for pair in zip(*rows, strict=True)]
        found = [abs(one) // other * (-1 if one < 0 else 1) for one, other in pairs]
        rests = [one - other * whole for (one, other), whole in zip(pairs, found, strict=True)]
        quotient, rest = torch.empty_like(x), torch.empty_like(x)
        (ctypes.c_int64 * x.numel()).from_address(quotient.data_ptr())[:] = found
        (ctypes.c_int64 * x.numel()).from_address(rest.data_ptr())[:] = rests
        return quotient, rest
