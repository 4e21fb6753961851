"""Keeps its answer by the seed of the library's generator.

Seen: in no published system that is known here.
Verdict: incorrect
"""

import torch
from kernels import softmax
from reference import Model

KEPT = {}


class ModelNew(Model):
    def forward(self, x):
        seed = torch.initial_seed()
        if seed not in KEPT:
            KEPT[seed] = softmax(x, self.scale)
        return KEPT[seed]
