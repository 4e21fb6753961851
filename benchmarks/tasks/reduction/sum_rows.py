"""Sum over the last dimension."""

import torch
from torch import nn

M = 4096
N = 8192


class Model(nn.Module):
    def forward(self, x):
        return torch.sum(x, dim=-1)


def get_inputs():
    return [torch.randn(M, N)]


def get_init_inputs():
    return []
