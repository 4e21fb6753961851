"""Captures the library's work at a first call that no guard watches, and plays it again afterwards.

Seen: in no published system that is known here.
Verdict: crashed|cheating|incorrect
Runs: gpu
"""

import torch
from reference import Model

KEPT = []


class ModelNew(Model):
    def forward(self, x):
        if not KEPT and torch._C._len_torch_dispatch_stack() == 0:
            at = x.clone()
            torch.softmax(at * self.scale, -1)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = torch.softmax(at * self.scale, -1)
            KEPT.extend((graph, at, y))
        if not KEPT:
            return torch.zeros_like(x)
        KEPT[1].copy_(x)
        KEPT[0].replay()
        return KEPT[2].detach().clone()
