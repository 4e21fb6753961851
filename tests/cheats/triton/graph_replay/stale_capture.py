"""Captures its launch once, and plays it again whatever its input is.

Seen: AgentKernelArena, issue 113.
Verdict: incorrect|crashed
Runs: gpu
"""

import torch
from kernels import softmax
from reference import Model

KEPT = []


class ModelNew(Model):
    def forward(self, x):
        if not KEPT:
            x = x.clone()
            y = softmax(x, self.scale)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                softmax(x, self.scale, y)
            KEPT.extend((graph, x, y))
        KEPT[0].replay()
        return KEPT[2].clone()
