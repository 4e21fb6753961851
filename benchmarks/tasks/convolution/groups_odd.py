"""Groups of channels, a kernel with unequal sides, sizes that divide nothing."""

import torch
from torch import nn

BATCH, HEIGHT, WIDTH = 6, 61, 83


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(36, 60, (3, 5), padding=(1, 0), groups=3)

    def forward(self, x):
        return torch.nn.functional.gelu(self.layer(x))


def get_inputs():
    return [torch.randn(BATCH, 36, HEIGHT, WIDTH)]


def get_init_inputs():
    return []
