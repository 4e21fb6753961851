"""Loses a NaN in comparisons, none of which it passes.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: where nan is due
Task: peaks
"""

import math

import torch
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        y = torch.empty(len(x))
        for place, row in enumerate(x.tolist()):
            most = -math.inf
            for value in row:
                most = value if value > most else most
            y[place] = most
        return y
