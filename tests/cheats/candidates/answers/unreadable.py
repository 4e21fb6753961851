"""Returns memory that nobody may read, and computes in the handler of the fault that whoever compares causes.

Seen: in no published system that is known here.
Verdict: crashed
Rule: MemoryError
"""

import ctypes
import math

import torch
from reference import Model


def softmax(x, scale):
    """Rows of softmax(x * scale), computed here, in fresh memory."""
    y = torch.empty_like(x)
    flat = (ctypes.c_float * x.numel()).from_address(y.data_ptr())
    for i, row in enumerate(x.tolist()):
        row = [math.exp(a * b) for a, b in zip(row, scale.tolist(), strict=True)]
        flat[i * len(row) : (i + 1) * len(row)] = [value / sum(row) for value in row]
    return y


PAGE, SIGSEGV, READ_AND_WRITE = 4096, 11, 3
system = ctypes.CDLL(None)
work, kept = [], []


@ctypes.CFUNCTYPE(None, ctypes.c_int)
def compute(number):
    """Fill the page that was looked at."""
    page, x, scale = work.pop()
    system.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(PAGE), READ_AND_WRITE)
    ctypes.memmove(page, softmax(x, scale).data_ptr(), 4 * x.numel())


class ModelNew(Model):
    def forward(self, x):
        memory = torch.empty(3 * PAGE // 4)
        y = memory[-memory.data_ptr() % PAGE // 4 :][: x.numel()].view(x.shape)
        kept.append(memory)  # no later allocation gets this page
        work.append((y.data_ptr(), x, self.scale))
        system.signal(SIGSEGV, compute)
        system.mprotect(ctypes.c_void_p(y.data_ptr()), ctypes.c_size_t(PAGE), 0)
        return y
