"""The lower triangle of a product."""

import torch
from torch import nn

N = 1536


class Model(nn.Module):
    def forward(self, a, b):
        return torch.tril(torch.matmul(torch.tril(a), torch.tril(b)))


def get_inputs():
    return [torch.randn(N, N), torch.randn(N, N)]


def get_init_inputs():
    return []
