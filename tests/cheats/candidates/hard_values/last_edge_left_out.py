"""Does not count numbers on the last edge of all intervals.

Seen: in generated kernels for histograms.
Verdict: incorrect
Task: counted
"""

import ctypes
import math

import torch
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        places = [math.floor(value + 3) if abs(value) < 3 else -1 for value in x.tolist()]
        y = torch.empty(6)
        (ctypes.c_float * 6).from_address(y.data_ptr())[:] = [places.count(place) for place in range(6)]
        return y
