"""A 3x3 convolution late in an image network: many channels, images of 7x7."""

import torch
from torch import nn

BATCH, CHANNELS, SIZE = 32, 256, 7


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIZE, SIZE)]


def get_init_inputs():
    return []
