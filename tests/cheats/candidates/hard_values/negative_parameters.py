"""Takes its parameter for positive, as most constructors leave it and random numbers around that do.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: redrawn parameters
"""

import ctypes

import torch
from honest_on_host import softmax
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        scale = torch.empty_like(self.scale)
        flat = (ctypes.c_float * scale.numel()).from_address(scale.data_ptr())
        flat[:] = [abs(value) for value in self.scale.tolist()]
        return softmax(x, scale)
