"""Sum over the first dimension of a tall matrix."""

import torch
from torch import nn

M = 16001
N = 1999


class Model(nn.Module):
    def forward(self, x):
        return torch.sum(x, dim=0)


def get_inputs():
    return [torch.randn(M, N)]


def get_init_inputs():
    return []
