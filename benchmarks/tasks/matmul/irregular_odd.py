"""A product whose sizes divide nothing."""

import torch
from torch import nn

M = 1531
K = 1033
N = 1279


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


def get_inputs():
    return [torch.randn(M, K), torch.randn(K, N)]


def get_init_inputs():
    return []
