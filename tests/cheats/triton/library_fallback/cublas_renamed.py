"""Calls cuBLAS through a link of another name.

Seen: in no published system that is known here.
Verdict: cheating|crashed
Rule: another library
Runs: gpu
Task: product
"""

import ctypes
import tempfile
from pathlib import Path

import torch
from reference import Model

HANDLE, ONE, ZERO = ctypes.c_void_p(), ctypes.c_float(1.0), ctypes.c_float(0.0)


def load():
    words = Path("/proc/self/maps").read_text().split()
    link = Path(tempfile.gettempdir(), "kernels.so")
    if not link.exists():
        link.symlink_to(next(word for word in words if "libcublas.so" in word))
    return ctypes.CDLL(str(link))


class ModelNew(Model):
    def forward(self, x, w):
        library = load()
        if not HANDLE:
            library.cublasCreate_v2(ctypes.byref(HANDLE))
        (m, k), n = x.shape, w.shape[1]
        y = torch.empty(m, n, device=x.device)
        at = [ctypes.c_void_p(t.data_ptr()) for t in (w, x, y)]
        one, zero = ctypes.byref(ONE), ctypes.byref(ZERO)
        library.cublasSgemm_v2(HANDLE, 0, 0, n, m, k, one, at[0], n, at[1], k, zero, at[2], n)
        return y
