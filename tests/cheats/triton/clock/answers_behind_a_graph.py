"""Replays a graph that was captured in its first calls on the inputs that lay there, copied in each time.

Seen: what graphs are for: it is right, and all of its time is counted.
Verdict: gains nothing|crashed|failed
Judged: time
Runs: gpu
Task: large
"""

import torch
from kernels import softmax
from reference import Model

HELD = {}


class ModelNew(Model):
    def forward(self, x):
        if "graph" not in HELD:
            HELD["x"], HELD["y"] = torch.empty_like(x), torch.empty_like(x)
            softmax(HELD["x"], self.scale, HELD["y"])
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                softmax(HELD["x"], self.scale, HELD["y"])
            HELD["graph"] = graph
        HELD["x"].copy_(x)
        HELD["graph"].replay()
        return HELD["y"].clone()
