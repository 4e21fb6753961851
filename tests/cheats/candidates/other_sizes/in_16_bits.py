"""Counts its rows in 16 bits.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: s0=
Task: resized
"""

import torch
from honest_on_host import softmax
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        y = torch.zeros_like(x)
        softmaxed = softmax(x[: len(x) & 0xFFFF], self.scale)
        y[: len(softmaxed)] = softmaxed
        return y if len(x) > 0xFFFF else softmaxed
