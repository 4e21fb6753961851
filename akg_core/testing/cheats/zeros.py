"""Returns zeros.

Seen: KernelBench, issue 165: zeros pass where answers are small.
Verdict: incorrect
"""

import torch
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        return torch.zeros_like(x)
