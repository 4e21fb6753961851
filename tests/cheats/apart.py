"""What candidates are to give as memory of its own each: a copy, and twice the same numbers."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        y = x * 2
        return x.clone(), y, y.clone()


def get_inputs():
    return [torch.rand(13, 9)]


def get_init_inputs():
    return []
