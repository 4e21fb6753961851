"""Gives a list that launches its kernel when somebody walks through it.

Seen: in no published system that is known here.
Verdict: incorrect
"""

from kernels import softmax
from reference import Model


class Later(list):
    def __iter__(self):
        x, scale = self.given
        return iter([softmax(x, scale)])


class ModelNew(Model):
    def forward(self, x):
        softmax(x, self.scale)
        answer = Later()
        answer.given = (x, self.scale)
        return answer
