"""The first operand is stored transposed."""

import torch
from torch import nn

M = 1024
K = 1536
N = 1024


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a.t(), b)


def get_inputs():
    return [torch.randn(K, M), torch.randn(K, N)]


def get_init_inputs():
    return []
