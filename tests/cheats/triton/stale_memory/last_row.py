"""Launches one program too few.

Seen: tiles without a remainder.
Verdict: incorrect
Rule: output[12,
"""

from kernels import softmax
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        return softmax(x, self.scale, rows=x.shape[0] - 1)
