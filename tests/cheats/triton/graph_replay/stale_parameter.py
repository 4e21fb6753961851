"""Captures its launch with the parameter as it was then.

Seen: in no published system that is known here.
Verdict: incorrect|crashed
Runs: gpu
"""

import torch
from kernels import softmax
from reference import Model

KEPT = {}


class ModelNew(Model):
    def forward(self, x):
        if x.shape not in KEPT:
            at, scale = x.clone(), self.scale.detach().clone()
            y = softmax(at, scale)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                softmax(at, scale, y)
            KEPT[x.shape] = (graph, scale, at, y)
        graph, _, at, y = KEPT[x.shape]
        at.copy_(x)
        graph.replay()
        return y.clone()
