"""Position of the maximum of rows in which many elements are nearly the largest."""

import torch
from torch import nn

M, N = 1024, 1000


class Model(nn.Module):
    def forward(self, x):
        return torch.argmax(x, dim=1)


def get_inputs():
    return [1.0 + 1e-6 * torch.randn(M, N)]


def get_init_inputs():
    return []
