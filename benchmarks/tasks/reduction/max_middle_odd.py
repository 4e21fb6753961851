"""Maximum over a middle dimension; the sizes divide nothing."""

import torch
from torch import nn

B = 31
R = 1009
C = 1021


class Model(nn.Module):
    def forward(self, x):
        return torch.amax(x, dim=1)


def get_inputs():
    return [torch.randn(B, R, C)]


def get_init_inputs():
    return []
