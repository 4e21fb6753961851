"""Finds no infinity.

Seen: in kernels that compare with the largest number.
Verdict: incorrect
Rule: inf
Task: finite
"""

import ctypes

import torch
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        infinite, finite = (torch.empty(x.shape, dtype=torch.bool) for _ in range(2))
        numbers = [value == value for row in x.tolist() for value in row]
        (ctypes.c_bool * x.numel()).from_address(infinite.data_ptr())[:] = [False] * x.numel()
        (ctypes.c_bool * x.numel()).from_address(finite.data_ptr())[:] = numbers
        return infinite, finite
