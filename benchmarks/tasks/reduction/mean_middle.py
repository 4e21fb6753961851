"""Mean over a middle dimension."""

import torch
from torch import nn

B = 32
R = 1024
C = 1024


class Model(nn.Module):
    def forward(self, x):
        return torch.mean(x, dim=1)


def get_inputs():
    return [torch.randn(B, R, C)]


def get_init_inputs():
    return []
