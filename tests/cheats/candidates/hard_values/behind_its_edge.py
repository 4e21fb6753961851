"""Takes what equals an edge, which a buffer of the module holds, for what is beyond it.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: rows (large, border, exact
Task: sorted_in
"""

import ctypes

import torch
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        edges = self.edges.tolist()
        y = torch.empty(x.shape, dtype=torch.int64)
        flat = (ctypes.c_int64 * x.numel()).from_address(y.data_ptr())
        flat[:] = [sum(edge <= value for edge in edges) for row in x.tolist() for value in row]
        return y
