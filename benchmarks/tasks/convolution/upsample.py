"""A transposed convolution that doubles height and width."""

import torch
from torch import nn

BATCH, CHANNELS, SIZE = 8, 64, 40


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.ConvTranspose2d(CHANNELS, CHANNELS // 2, 4, stride=2, padding=1)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIZE, SIZE)]


def get_init_inputs():
    return []
