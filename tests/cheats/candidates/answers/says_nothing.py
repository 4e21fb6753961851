"""Raises an error that raises another when it is asked what it says.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: Silent: no message
"""

from reference import Model


class Silent(Exception):
    def __str__(self):
        raise SystemError


class ModelNew(Model):
    def forward(self, x):
        raise Silent
