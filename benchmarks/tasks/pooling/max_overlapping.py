"""The largest of 3x3 windows that overlap."""

import torch
from torch import nn
from torch.nn import functional

BATCH, CHANNELS, SIZE = 32, 64, 112


class Model(nn.Module):
    def forward(self, x):
        return functional.max_pool2d(x, 3, stride=2, padding=1)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIZE, SIZE)]


def get_init_inputs():
    return []
