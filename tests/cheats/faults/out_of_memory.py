"""Asks for more memory than the device has.

Seen: kernels that are searched for.
Verdict: incorrect|crashed
Rule: out of memory
Runs: gpu
"""

import torch
from kernels import softmax
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        torch.empty(1 << 40, dtype=torch.int8, device=x.device)
        return softmax(x, self.scale)
