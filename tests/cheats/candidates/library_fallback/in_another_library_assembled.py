"""Computes with numpy, by a name that stands nowhere.

Seen: in no published system that is known here.
Verdict: cheating
Rule: another library
"""

import torch
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        return torch.from_numpy(getattr(x, "num" + "py")() * 2)
