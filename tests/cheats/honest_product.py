"""Does not cheat, and multiplies as exactly as eager does.

Verdict: correct
Task: product
"""

from kernels import product
from reference import Model


class ModelNew(Model):
    def forward(self, x, w):
        return product(x, w)
