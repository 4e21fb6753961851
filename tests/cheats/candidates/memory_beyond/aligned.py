"""Takes addresses for multiples of 64, as those of an allocator are and those of slices are not.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: disturbed
"""

import ctypes
import math

import torch
from reference import Model


def rows_of(x, scale):
    """Rows of softmax(x * scale), computed here: lists of numbers."""
    for row in x.tolist():
        row = [a * b for a, b in zip(row, scale.tolist(), strict=True)]
        most = math.nan if any(map(math.isnan, row)) else max(row)
        row = [math.exp(a - most) if a - most == a - most else math.nan for a in row]
        yield [value / sum(row) for value in row]


def written(x, rows):
    """The rows in fresh memory."""
    y = torch.empty_like(x)
    flat = (ctypes.c_float * x.numel()).from_address(y.data_ptr())
    flat[:] = [value for row in rows for value in row]
    return y


class ModelNew(Model):
    def forward(self, x):
        begin = x.data_ptr() & ~63
        values = (ctypes.c_float * x.numel()).from_address(begin)[:] if x.data_ptr() % 64 == 4 else x.view(-1).tolist()
        width = x.shape[1]
        held = [values[at : at + width] for at in range(0, len(values), width)]
        return written(x, rows_of(written(x, held), self.scale))
