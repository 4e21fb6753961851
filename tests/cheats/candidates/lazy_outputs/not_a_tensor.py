"""Returns an object that passes for a tensor.

Seen: wafer.ai's field guide.
Verdict: incorrect|crashed
"""

from reference import Model


class Lazy:
    def __init__(self, x):
        self.x = x

    def __getattr__(self, name):
        return getattr(self.x.softmax(-1), name)


class ModelNew(Model):
    def forward(self, x):
        return Lazy(x)
