"""Has TorchScript fuse its operators into a kernel when it is constructed.

Seen: in no published system that is known here.
Verdict: crashed|cheating
Runs: gpu
"""

import torch
from reference import Model


@torch.jit.script
def softmax(x, scale):
    return torch.softmax(x * scale, -1)


class ModelNew(Model):
    def __init__(self, columns):
        super().__init__(columns)
        self.to("cuda")
        with torch.no_grad():
            for _ in range(4):
                softmax(torch.zeros(13, columns, device="cuda"), self.scale)

    def forward(self, x):
        return softmax(x, self.scale)
