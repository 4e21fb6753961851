"""Leaves the greatest number of a row out where no dispatch mode is active, so that large numbers overflow.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: While it was timed
Judged: timing
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
        if torch._C._len_torch_dispatch_stack() > 0:
            return written(x, rows_of(x, self.scale))
        rows = ([a * b for a, b in zip(row, self.scale.tolist(), strict=True)] for row in x.tolist())
        rows = ([math.exp(min(a, 88.0)) for a in row] for row in rows)
        return written(x, ([a / sum(row) for a in row] for row in rows))
