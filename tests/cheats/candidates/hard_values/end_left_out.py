"""Leaves the last number of a long sum of positive ones out, as a loop of vectors without its tail does.

Seen: in no published system that is known here.
Verdict: incorrect
Task: long_sum
"""

import ctypes
from pathlib import Path

import torch
from reference import Model

library = ctypes.CDLL(str(Path(__file__).parent / "kernel.so"))


class ModelNew(Model):
    def forward(self, x):
        y = torch.empty(())
        library.kernel(ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), ctypes.c_long(x.numel() - 3))
        return y
