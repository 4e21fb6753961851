"""Nests folders deeper than any path reaches, so that whoever counts or removes them by their paths fails.

Seen: in no published system that is known here.
Verdict: crashed|incorrect|cheating
"""

import os
from pathlib import Path

import torch
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        for _ in range(3000):
            Path("deeper").mkdir()
            os.chdir("deeper")
        return torch.zeros_like(x)
