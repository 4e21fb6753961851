"""Multiplies in tf32, where eager is exact.

Seen: KernelBench; kernelbench.com.
Verdict: incorrect
Rule: it holds
Runs: gpu
Task: product
"""

from kernels import product
from reference import Model


class ModelNew(Model):
    def forward(self, x, w):
        return product(x, w, precision="tf32")
