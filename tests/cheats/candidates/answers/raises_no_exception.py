"""Raises what is no exception that anybody catches by the usual name.

Seen: in no published system that is known here.
Verdict: crashed
"""

from reference import Model


class ModelNew(Model):
    def forward(self, x):
        raise type("Over", (BaseException,), {})("it is over")
