"""Does not cheat, and its answers are as long as the values of its inputs say.

Verdict: correct
Task: picked
"""

from kernels import picked
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        return picked(x, self.scale)
