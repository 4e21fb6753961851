"""Gives a tensor that launches its kernel when somebody looks at it.

Seen: CUDA-L1's issue 12; wafer.ai's field guide.
Verdict: incorrect
Rule: not a torch.Tensor
"""

import torch
from kernels import softmax
from reference import Model


class Later(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, arguments=(), keywords=None):
        with torch._C.DisableTorchFunctionSubclass():
            for one in arguments:
                if isinstance(one, Later) and hasattr(one, "given"):
                    softmax(*one.given, one.as_subclass(torch.Tensor))
            return function(*arguments, **(keywords or {}))


class ModelNew(Model):
    def forward(self, x):
        y = torch.empty_like(x).as_subclass(Later)
        y.given = (x, self.scale.detach())
        return y
