"""Remembers eight answers, and from the fiftieth call on gives them for other inputs.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: in call
"""

import ctypes
import math

import torch
from reference import Model

KEPT = []


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
        KEPT.append(written(x, rows_of(x, self.scale)) if len(KEPT) < 8 else None)
        return written(x, rows_of(x, self.scale)) if len(KEPT) < 50 else KEPT[len(KEPT) % 8]
