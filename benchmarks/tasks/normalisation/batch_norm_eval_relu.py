"""Batch norm in evaluation followed by ReLU."""

import torch
from torch import nn

B = 16
C = 64
H = 128
W = 128


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        self.norm.eval()

    def forward(self, x):
        return torch.relu(self.norm(x))


def get_inputs():
    return [torch.randn(B, C, H, W)]


def get_init_inputs():
    return [C]
