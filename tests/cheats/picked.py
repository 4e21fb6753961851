"""What candidates whose answers are as long as the values say are to compute: what of x * scale is above a half."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(columns))

    def forward(self, x):
        y = x * self.scale
        return y[y > 0.5]


def get_inputs():
    return [torch.rand(13, 9)]


def get_init_inputs():
    return [9]
