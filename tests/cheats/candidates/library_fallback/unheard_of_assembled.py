"""Imports a package that is on nobody's list by a name that is made up as it runs, in a thread that has no other code.

Seen: in no published system that is known here.
Verdict: cheating
Rule: uses another library: pytest
"""

import importlib
import threading

import torch
from reference import Model

thread = threading.Thread(target=importlib.import_module, args=("tsetyp"[::-1],))
thread.start()
thread.join()


class ModelNew(Model):
    def forward(self, x):
        return torch.empty_like(x)
