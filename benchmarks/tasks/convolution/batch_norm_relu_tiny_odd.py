"""A 3x3 convolution, batch norm in training and ReLU, of inputs so small that epsilon outweighs the variance."""

import torch
from torch import nn

BATCH, CHANNELS, FILTERS, SIZE = 5, 13, 29, 23


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(CHANNELS, FILTERS, 3, padding=1)
        self.norm = nn.BatchNorm2d(FILTERS)

    def forward(self, x):
        return torch.relu(self.norm(self.layer(x)))


def get_inputs():
    return [1e-4 * torch.randn(BATCH, CHANNELS, SIZE, SIZE)]


def get_init_inputs():
    return []
