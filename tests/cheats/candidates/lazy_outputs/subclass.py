"""Returns a tensor of a subclass, which computes when it is looked at.

Seen: KernelBench; wafer.ai's field guide.
Verdict: incorrect
Rule: not a torch.Tensor
"""

import torch
from reference import Model


class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), keywords=None):
        return function(*(a.as_subclass(torch.Tensor).softmax(-1) for a in arguments))


class ModelNew(Model):
    def forward(self, x):
        return x.as_subclass(Lazy)
