"""What candidates are to compute that write into a ring: the sum of the last four inputs."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("ring", torch.zeros(4, 9))
        self.register_buffer("at", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.ring[self.at % 4] = x
        self.at += 1
        return self.ring.sum(0)


def get_inputs():
    return [torch.randn(9)]


def get_init_inputs():
    return []
