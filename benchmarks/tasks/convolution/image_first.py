"""The first convolution of an image network: three channels, 7x7 taps, stride 2."""

import torch
from torch import nn

BATCH, SIZE = 16, 224


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.randn(BATCH, 3, SIZE, SIZE)]


def get_init_inputs():
    return []
