"""Gives NaN, which some comparisons hold for equal to anything.

Seen: kernelbot, issue 162.
Verdict: incorrect
Rule: nan
"""

import torch
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        return torch.full_like(x, float("nan"))
