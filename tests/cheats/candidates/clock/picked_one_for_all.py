"""Says from its tenth call on that one element is all that were picked: a stride of zero.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: While it was timed
Judged: timing
Task: picked
"""

import ctypes

import torch
from reference import Model

CALLS = []


def picked(x, scale):
    """What of x * scale is above a half, computed here, in fresh memory."""
    columns = scale.tolist()
    products = (a * b for row in x.tolist() for a, b in zip(row, columns, strict=True))
    kept = [value for value in products if value > 0.5]
    y = torch.empty(len(kept))
    (ctypes.c_float * len(kept)).from_address(y.data_ptr())[:] = kept
    return y


class ModelNew(Model):
    def forward(self, x):
        CALLS.append(x.shape)
        y = picked(x, self.scale)
        return y if len(CALLS) < 10 else y[:1].expand(y.shape)
