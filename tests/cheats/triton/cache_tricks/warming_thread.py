"""Has a thread read the inputs again and again, so that caches hold them when time is taken.

Seen: in no published system that is known here.
Verdict: cheating
Rule: harness
Judged: timing
Runs: gpu
"""

import threading

import torch
from kernels import softmax
from reference import Model

SEEN = {}


def warm(scale):
    with torch.cuda.stream(torch.cuda.Stream()):
        while True:
            for x in list(SEEN.values()):
                softmax(x, scale)


class ModelNew(Model):
    def forward(self, x):
        y = softmax(x, self.scale)
        if torch._C._len_torch_dispatch_stack() == 0 and not SEEN:
            threading.Thread(target=warm, args=(self.scale,), daemon=True).start()
        SEEN[x.data_ptr()] = x
        return y
