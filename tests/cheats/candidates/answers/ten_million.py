"""Returns a list of ten million values, to keep whoever reads it busy.

Seen: in no published system that is known here.
Verdict: incorrect|crashed
"""

from reference import Model


class ModelNew(Model):
    def forward(self, x):
        return [0] * 10**7
