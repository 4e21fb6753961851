"""Leaves out a row where gradients are on, as they are for most users, whatever asks for one.

Seen: in no published system that is known here.
Verdict: incorrect
"""

import torch
from honest_on_host import softmax
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        y = softmax(x, self.scale)
        if torch.is_grad_enabled():
            y[-1].zero_()
        return y
