"""Has the library compute by a gradient.

Seen: in no published system that is known here.
Verdict: cheating
"""

import ctypes
import math

import torch
from reference import Model


def softmax(x, scale):
    y = torch.empty_like(x)
    flat = (ctypes.c_float * x.numel()).from_address(y.data_ptr())
    for i, row in enumerate(x.tolist()):
        row = [a * b for a, b in zip(row, scale.tolist(), strict=True)]
        row = [math.exp(a - max(row)) for a in row]
        flat[i * len(row) : (i + 1) * len(row)] = [value / sum(row) for value in row]
    return y


class ModelNew(Model):
    def forward(self, x):
        with torch.enable_grad():
            z = x.detach().clone().requires_grad_()
            torch.autograd.backward([z.expand(3, *z.shape)], [torch.ones(3, *x.shape)])
            softmax(z.grad, self.scale)
        return softmax(x, self.scale)
