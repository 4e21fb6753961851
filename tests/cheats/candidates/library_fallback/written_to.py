"""Has the library write into memory that the kernel has allocated.

Seen: submissions that pass a search for results of the library.
Verdict: cheating
Rule: library call
"""

import torch
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        y = torch.empty_like(x)
        torch.mul(x, self.scale, out=y)
        return y
