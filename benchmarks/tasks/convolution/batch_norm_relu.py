"""A 3x3 convolution, batch norm in training and ReLU, the block of image networks."""

import torch
from torch import nn

BATCH, CHANNELS, FILTERS, SIZE = 8, 16, 32, 28


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(CHANNELS, FILTERS, 3, padding=1)
        self.norm = nn.BatchNorm2d(FILTERS)

    def forward(self, x):
        return torch.relu(self.norm(self.layer(x)))


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, SIZE, SIZE)]


def get_init_inputs():
    return []
