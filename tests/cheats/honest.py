"""Does not cheat: what candidates are compared with.

Verdict: correct
"""

from kernels import softmax
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        return softmax(x, self.scale)
