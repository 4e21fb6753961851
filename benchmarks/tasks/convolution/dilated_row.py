"""Taps three apart along a long row, stride 2."""

import torch
from torch import nn

BATCH, CHANNELS, LENGTH = 4, 48, 16001


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv1d(CHANNELS, CHANNELS, 5, stride=2, padding=6, dilation=3)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, LENGTH)]


def get_init_inputs():
    return []
