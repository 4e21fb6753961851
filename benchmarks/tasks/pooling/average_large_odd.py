"""Means of 11x11 windows beside each other, sizes that divide nothing."""

import torch
from torch import nn
from torch.nn import functional

BATCH, CHANNELS, HEIGHT, WIDTH = 4, 16, 517, 771


class Model(nn.Module):
    def forward(self, x):
        return functional.avg_pool2d(x, 11)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return []
