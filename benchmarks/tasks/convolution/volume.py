"""A 3x3x3 convolution over a volume."""

import torch
from torch import nn

CHANNELS, DEPTH, SIZE = 24, 20, 40


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv3d(CHANNELS, CHANNELS, 3)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.randn(2, CHANNELS, DEPTH, SIZE, SIZE)]


def get_init_inputs():
    return []
