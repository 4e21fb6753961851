"""Is wrong where the number of rows is a power of two.

Seen: in no published system that is known here.
Verdict: incorrect
Task: resized
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
        rows = list(rows_of(x, self.scale))
        if x.shape[0] & (x.shape[0] - 1) == 0 and x.shape[0] > 3:
            rows[-1] = [0.0] * x.shape[1]
        return written(x, rows)
