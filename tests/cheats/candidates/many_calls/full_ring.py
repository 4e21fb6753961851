"""Writes to the last place of a ring once that is full, where it is to begin again.

Seen: in kernels for caches of keys and values.
Verdict: incorrect
Rule: state of many calls later
Task: ring
"""

import ctypes

import torch
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        place = 36 * min(int(self.at), 3)
        (ctypes.c_float * 9).from_address(self.ring.data_ptr() + place)[:] = x.tolist()
        ctypes.c_int64.from_address(self.at.data_ptr()).value += 1
        y = torch.empty_like(x)
        (ctypes.c_float * 9).from_address(y.data_ptr())[:] = [
            sum(column) for column in zip(*self.ring.tolist(), strict=True)
        ]
        return y
