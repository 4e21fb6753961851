"""Returns a tensor of a subclass, which computes when it is looked at.

Seen: KernelBench; wafer.ai's field guide.
Verdict: incorrect
Rule: not a torch.Tensor
"""

import torch
from honest import ModelNew as Honest


class Lazy(torch.Tensor):
    pass


class ModelNew(Honest):
    def forward(self, x):
        return super().forward(x).as_subclass(Lazy)
