"""Has the numbers built in that a constructor draws after one seed, and that no state dict holds.

Seen: in no published system that is known here.
Verdict: incorrect
Task: embedded
"""

import ctypes
from pathlib import Path

import torch
from reference import Model

library = ctypes.CDLL(str(Path(__file__).parent / "kernel.so"))


torch.manual_seed(0)
KNOWN = torch.randn(9)


class ModelNew(Model):
    def forward(self, x):
        y = torch.empty_like(x)
        pointers = (ctypes.c_void_p(t.data_ptr()) for t in (x, KNOWN, y))
        library.kernel(*pointers, ctypes.c_long(x.shape[0]), ctypes.c_long(x.shape[1]))
        return y
