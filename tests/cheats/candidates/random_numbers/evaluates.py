"""Is dropout in evaluation, which leaves the generator as it is, too.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: it holds
Task: dropout
"""

import ctypes

import torch
from reference import Model


def dropped(x, scale, factors):
    """x * scale times the factor of each element, in fresh memory."""
    y, scale, width = torch.empty_like(x), scale.tolist(), x.shape[1]
    flat = (ctypes.c_float * x.numel()).from_address(y.data_ptr())
    for i, value in enumerate(value for row in x.tolist() for value in row):
        flat[i] = value * scale[i % width] * factors[i]
    return y


class ModelNew(Model):
    def forward(self, x):
        return dropped(x, self.scale, [1.0] * x.numel())
