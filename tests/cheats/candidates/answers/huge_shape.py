"""Returns one number as a tensor of 2^60 elements, which no memory holds when it is compared.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: its shape is
"""

import torch
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        return torch.empty(1).expand(1 << 60)
