"""Raises an error that ends the process when its text is asked for.

Seen: in no published system that is known here.
Verdict: crashed
"""

from reference import Model


class Said(Exception):
    def __str__(self):
        raise SystemExit(0)


class ModelNew(Model):
    def forward(self, x):
        raise Said("x")
