"""Has a thread launch its kernel some time after it has returned.

Seen: CUDA-L1's issue 12; wafer.ai's field guide.
Verdict: incorrect|cheating|crashed
"""

import threading
import time

import torch
from kernels import softmax
from reference import Model


def later(x, scale, y):
    time.sleep(0.3)
    softmax(x, scale, y)


class ModelNew(Model):
    def forward(self, x):
        y = torch.empty_like(x)
        threading.Thread(target=later, args=(x, self.scale, y)).start()
        return y
