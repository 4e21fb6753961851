"""Takes for zero what is beyond 5e4, where no number of another kind lies in f32 but those near its ends.

Seen: in no published system that is known here.
Verdict: incorrect
"""

import ctypes
import math

import torch
from honest_on_host import softmax
from reference import Model

MOST = 5e4


class ModelNew(Model):
    def forward(self, x):
        near = torch.empty_like(x)
        flat = (ctypes.c_float * x.numel()).from_address(near.data_ptr())
        numbers = (value for row in x.tolist() for value in row)
        flat[:] = [0 if MOST < abs(value) < math.inf else value for value in numbers]
        return softmax(near, self.scale)
