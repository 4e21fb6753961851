"""A diagonal matrix times a matrix."""

import torch
from torch import nn

M = 1536
N = 2048


class Model(nn.Module):
    def forward(self, d, x):
        return torch.diag(d) @ x


def get_inputs():
    return [torch.randn(M), torch.randn(M, N)]


def get_init_inputs():
    return []
