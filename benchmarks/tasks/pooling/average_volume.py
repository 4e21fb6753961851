"""Means of 3x3x3 windows over a volume."""

import torch
from torch import nn
from torch.nn import functional

BATCH, CHANNELS, SIZE = 4, 16, 64


class Model(nn.Module):
    def forward(self, x):
        return functional.avg_pool3d(x, 3, stride=2, padding=1)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIZE, SIZE, SIZE)]


def get_init_inputs():
    return []
