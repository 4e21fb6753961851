"""Has the library draw.

Seen: in no published system that is known here.
Verdict: cheating
Rule: bernoulli_
Task: dropout
"""

import torch
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        torch.empty_like(x).bernoulli_(0.75)
        return x
