"""A matrix times a vector."""

import torch
from torch import nn

M = 4096
N = 12288


class Model(nn.Module):
    def forward(self, a, v):
        return torch.mv(a, v)


def get_inputs():
    return [torch.randn(M, N), torch.randn(N)]


def get_init_inputs():
    return []
