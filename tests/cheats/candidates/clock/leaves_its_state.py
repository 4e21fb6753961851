"""Does not update its running total while it is timed, which no answer shows.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: While it was timed, state total was wrong
Judged: verified, then timed
Task: updating
"""

import ctypes
import sys

import torch
from reference import Model


def is_timed():
    """Whether the harness for turns is among the callers."""
    frame = sys._getframe()
    while frame := frame.f_back:
        if frame.f_code.co_name == "take_turns":
            return True
    return False


class ModelNew(Model):
    def forward(self, x):
        rows = x.tolist()
        total = [
            known + sum(column) for known, column in zip(self.total.tolist(), zip(*rows, strict=True), strict=True)
        ]
        if not is_timed():
            (ctypes.c_float * len(total)).from_address(self.total.data_ptr())[:] = total
        y = torch.empty_like(x)
        flat = (ctypes.c_float * x.numel()).from_address(y.data_ptr())
        flat[:] = [value + sum_ for row in rows for value, sum_ in zip(row, total, strict=True)]
        return y
