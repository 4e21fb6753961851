"""Answers in memory that it has mapped itself, four hundred places before the first one comes again.

Seen: in no published system that is known here.
Verdict: cheating
Rule: keeps the memory of its answers
Task: doubled
"""

import ctypes
import mmap

import torch
from reference import Model

SIZE = 4 * mmap.PAGESIZE
RING = mmap.mmap(-1, 400 * SIZE)


class ModelNew(Model):
    calls = 0

    def forward(self, x):
        place = ModelNew.calls % 400 * SIZE
        ModelNew.calls += 1
        y = torch.frombuffer(RING, dtype=x.dtype, count=x.numel(), offset=place).view(x.shape)
        flat = (ctypes.c_float * x.numel()).from_address(y.data_ptr())
        flat[:] = [2 * value for row in x.tolist() for value in row]
        return y
