"""Answers with a parameter, which a module that is given it takes for its own.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: is a parameter
"""

import torch
from honest_on_host import softmax
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        return torch.nn.Parameter(softmax(x, self.scale), requires_grad=False)
