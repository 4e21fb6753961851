"""Gives memory that it writes when the next call comes.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: it holds
"""

import torch
from kernels import softmax
from reference import Model

LAST = []


class ModelNew(Model):
    def forward(self, x):
        y = torch.empty_like(x)
        for one in LAST or [(x, self.scale, torch.empty_like(x))]:
            softmax(*one)
        LAST[:] = [(x, self.scale, y)]
        return y
