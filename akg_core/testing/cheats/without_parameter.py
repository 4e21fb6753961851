"""Leaves the parameter out.

Seen: kernels for layers whose weights are ones when they are made.
Verdict: incorrect
"""

import torch
from honest import ModelNew as Honest


class ModelNew(Honest):
    def forward(self, x):
        scale, self.scale.data = self.scale.data, torch.empty_like(self.scale).fill_(1.0)
        y = super().forward(x)
        self.scale.data = scale
        return y
