"""A 1x1 convolution with as many outputs as inputs."""

import torch
from torch import nn

BATCH, CHANNELS, SIZE = 8, 128, 64


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(CHANNELS, CHANNELS, 1)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIZE, SIZE)]


def get_init_inputs():
    return []
