"""Group norm of an image batch."""

import torch
from torch import nn

B = 16
C = 64
H = 128
W = 128
GROUPS = 8


class Model(nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(B, C, H, W)]


def get_init_inputs():
    return [GROUPS, C]
