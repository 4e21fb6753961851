"""The largest of taps three apart along long rows."""

import torch
from torch import nn
from torch.nn import functional

BATCH, CHANNELS, LENGTH = 16, 64, 16384


class Model(nn.Module):
    def forward(self, x):
        return functional.max_pool1d(x, 8, stride=1, padding=4, dilation=3)


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, LENGTH)]


def get_init_inputs():
    return []
