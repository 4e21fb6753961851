"""Does not cheat: halves its rows between threads of Python, which end.

Verdict: correct
"""

import ctypes
import threading
from pathlib import Path

import torch
from reference import Model

library = ctypes.CDLL(str(Path(__file__).parent / "kernel.so"))


def launch(*tensors, rows, columns):
    library.kernel(*(ctypes.c_void_p(t.data_ptr()) for t in tensors), ctypes.c_long(rows), ctypes.c_long(columns))


class ModelNew(Model):
    def forward(self, x):
        y, half = torch.empty_like(x), len(x) // 2

        def part(rows):
            launch(x[rows], self.scale, y[rows], rows=len(x[rows]), columns=x.shape[1])

        beside = [threading.Thread(target=part, args=(rows,)) for rows in (slice(half), slice(half, None))]
        for thread in beside:
            thread.start()
        for thread in beside:
            thread.join()
        return y
