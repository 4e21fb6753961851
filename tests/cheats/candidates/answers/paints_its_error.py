"""Has an error whose class and message steer a terminal.

Seen: in no published system that is known here.
Verdict: incorrect
Rule: raised \x1b]0;correct\x07\x1b[2J\x1b[32mcorrect\x1b[0m
"""

from reference import Model

PAINT = "\x1b]0;correct\x07\x1b[2J\x1b[32mcorrect\x1b[0m\r\u202e"


class ModelNew(Model):
    def forward(self, x):
        raise type(PAINT, (RuntimeError,), {})(PAINT)
