"""Picks nothing from its third call on: an answer without elements, in which none is wrong.

Seen: in no published system that is known here.
Verdict: incorrect
Judged: timing
Runs: gpu
Task: picked
"""

import torch
from kernels import picked
from reference import Model

CALLS = []


class ModelNew(Model):
    def forward(self, x):
        CALLS.append(1)
        return picked(x, self.scale) if len(CALLS) < 3 else torch.empty(0, device=x.device)
