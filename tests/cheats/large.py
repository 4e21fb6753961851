"""What candidates are to compute that gain by memory or by time: rows that move many bytes, and still fit a cache."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(columns))

    def forward(self, x):
        return torch.softmax(x * self.scale, dim=-1)


def get_inputs():
    return [torch.rand(4096, 2048)]


def get_init_inputs():
    return [2048]
