"""Answers in memory that is mapped twice, and goes on by the other map.

Seen: in no published system that is known here.
Verdict: cheating|incorrect|crashed
"""

import ctypes
from pathlib import Path

import torch
from reference import Model

library = ctypes.CDLL(str(Path(__file__).parent / "kernel.so"))
library.kernel.restype = ctypes.c_void_p


class ModelNew(Model):
    def forward(self, x):
        pointers = (ctypes.c_void_p(t.data_ptr()) for t in (x, self.scale, x))
        at = library.kernel(*pointers, ctypes.c_long(x.shape[0]), ctypes.c_long(x.shape[1]))
        return torch.frombuffer((ctypes.c_float * x.numel()).from_address(at), dtype=torch.float32).view(x.shape)
