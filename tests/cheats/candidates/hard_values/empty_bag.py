"""Takes one row at least for each bag.

Seen: in kernels whose loop ends behind its first step.
Verdict: incorrect
Rule: places
Task: bags
"""

import ctypes
import math

import torch
from reference import Model


class ModelNew(Model):
    def forward(self, rows, offsets):
        table, rows, begins = self.bag.weight.tolist(), rows.tolist(), offsets.tolist()
        y, found = torch.empty(len(begins), 6), []
        for begin, end in zip(begins, [*begins[1:], len(rows)], strict=True):
            bag = [table[row] for row in rows[begin : max(end, begin + 1)]]
            found += [math.fsum(column) / len(bag) for column in zip(*bag, strict=True)]
        (ctypes.c_float * y.numel()).from_address(y.data_ptr())[:] = found
        return y
