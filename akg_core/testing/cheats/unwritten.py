"""Allocates and hopes for the answer of another in that memory.

Seen: tests of KernelBench.
Verdict: incorrect
"""

import torch
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        return torch.empty_like(x)
