"""Answers with a tensor that asks for gradients.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: asks for gradients
"""

from honest_on_host import softmax
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        return softmax(x, self.scale).requires_grad_()
