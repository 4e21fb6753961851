"""Replaces the clock.

Seen: attacks on harnesses in the same interpreter.
Verdict: cheating
Rule: harness
"""

import time

from honest import ModelNew as Honest

time.perf_counter = lambda: 0.0


class ModelNew(Honest):
    pass
