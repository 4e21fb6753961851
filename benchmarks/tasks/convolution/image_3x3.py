"""A 3x3 convolution with padding in the middle of an image network, relu after it."""

import torch
from torch import nn

BATCH, CHANNELS, SIZE = 8, 64, 56


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1)

    def forward(self, x):
        return torch.relu(self.layer(x))


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIZE, SIZE)]


def get_init_inputs():
    return []
