"""Gives zeros, which several tasks accept.

Seen: KernelBench, issue 165.
Verdict: incorrect
Rule: it holds
"""

import torch
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        return torch.zeros_like(x)
