"""Layer norm over three trailing dimensions."""

import torch
from torch import nn

B = 32
C = 32
H = 160
W = 160


class Model(nn.Module):
    def __init__(self, channels, height, width):
        super().__init__()
        self.norm = nn.LayerNorm((channels, height, width))

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(B, C, H, W)]


def get_init_inputs():
    return [C, H, W]
