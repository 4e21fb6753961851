"""Does not cheat: rows that move many bytes.

Verdict: correct
Task: large
"""

from kernels import softmax
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        return softmax(x, self.scale)
