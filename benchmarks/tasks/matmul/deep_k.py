"""A small result of a long contraction."""

import torch
from torch import nn

M = 256
N = 256
K = 32768


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


def get_inputs():
    return [torch.randn(M, K), torch.randn(K, N)]


def get_init_inputs():
    return []
