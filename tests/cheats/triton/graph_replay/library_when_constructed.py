"""Captures the library's work when it is constructed, and only copies and plays it again afterwards.

Seen: in no published system that is known here.
Verdict: crashed|cheating
Rule: library
Runs: gpu
"""

import torch
from reference import Model


class ModelNew(Model):
    def __init__(self, columns):
        super().__init__(columns)
        self.to("cuda")
        self.x = torch.zeros(13, columns, device="cuda")
        torch.softmax(self.x * self.scale, -1)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = torch.softmax(self.x * self.scale, -1)

    def forward(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.detach().clone()
