"""What candidates are to compute that leave something behind: a running total, which each call adds to."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.register_buffer("total", torch.zeros(columns))

    def forward(self, x):
        self.total.add_(x.sum(0))
        return x + self.total


def get_inputs():
    return [torch.rand(13, 9)]


def get_init_inputs():
    return [9]
