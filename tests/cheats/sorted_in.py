"""What candidates are to sort in: the numbers of edges that a buffer holds."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("edges", torch.tensor([-1.3, -0.4, 0.2, 0.9]))

    def forward(self, x):
        return torch.bucketize(x, self.edges)


def get_inputs():
    return [torch.randn(16, 9)]


def get_init_inputs():
    return []
