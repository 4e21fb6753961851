"""Raises an error whose class has a name of ten million characters that paints another verdict.

Seen: in no published system that is known here.
Verdict: incorrect
"""

from reference import Model


class ModelNew(Model):
    def forward(self, x):
        raise type("A\x1b[2K\rcorrect" + "y" * 10**7, (Exception,), {})("x" * 10**8)
