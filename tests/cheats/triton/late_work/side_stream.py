"""Launches in a stream of its own, and returns without waiting.

Seen: KernelBench; CUDA-L1's issue 12.
Verdict: gains nothing|incorrect|cheating
Judged: time
Runs: gpu
Task: large
"""

import torch
from kernels import softmax
from reference import Model

STREAM = []


class ModelNew(Model):
    def forward(self, x):
        if not STREAM:
            STREAM.append(torch.cuda.Stream())
        y = torch.empty_like(x)
        with torch.cuda.stream(STREAM[0]):
            return softmax(x, self.scale, y)
