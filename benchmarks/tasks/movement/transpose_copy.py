"""A transposed copy of a matrix."""

import torch
from torch import nn

M = 4096
N = 6144


class Model(nn.Module):
    def forward(self, x):
        return x.t().contiguous()


def get_inputs():
    return [torch.randn(M, N)]


def get_init_inputs():
    return []
