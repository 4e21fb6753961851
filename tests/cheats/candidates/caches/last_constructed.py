"""Keeps for the class what is a module's own: of two modules, the first has the other's parameter.

Seen: in no published system that is known here.
Verdict: incorrect
"""

from honest_on_host import softmax
from reference import Model


class ModelNew(Model):
    last = None

    def __init__(self, columns):
        super().__init__(columns)
        ModelNew.last = self

    def forward(self, x):
        return softmax(x, ModelNew.last.scale)
