"""Instance norm of an image batch; the sizes divide nothing."""

import torch
from torch import nn

B = 15
C = 61
H = 131
W = 127


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.InstanceNorm2d(channels)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(B, C, H, W)]


def get_init_inputs():
    return [C]
