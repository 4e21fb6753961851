"""Is right but for one element, which holds its neighbour's value.

Seen: kernels whose last tile is wrong.
Verdict: incorrect
"""

from honest import ModelNew as Honest


class ModelNew(Honest):
    def forward(self, x):
        y = super().forward(x)
        y[-1, -1].copy_(y[-1, -2])
        return y
