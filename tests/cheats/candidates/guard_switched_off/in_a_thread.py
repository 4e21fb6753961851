"""Computes in a thread, where no dispatch mode is active.

Seen: KernelBench, CUDA-L1's issue 12.
Verdict: cheating
Rule: library call
"""

import threading

import torch
from reference import Model


class ModelNew(Model):
    def forward(self, x):
        answers = []
        thread = threading.Thread(target=lambda: answers.append(torch.softmax(x * self.scale, -1)))
        thread.start()
        thread.join()
        return answers[0]
