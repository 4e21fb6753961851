"""Each channel with 5x5 taps of its own."""

import torch
from torch import nn

BATCH, CHANNELS, SIZE = 16, 96, 64


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(CHANNELS, CHANNELS, 5, padding=2, groups=CHANNELS)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIZE, SIZE)]


def get_init_inputs():
    return []
