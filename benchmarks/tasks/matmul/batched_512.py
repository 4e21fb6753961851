"""Batched product of 512 by 512 matrices."""

import torch
from torch import nn

B = 8
N = 512


class Model(nn.Module):
    def forward(self, a, b):
        return torch.bmm(a, b)


def get_inputs():
    return [torch.randn(B, N, N), torch.randn(B, N, N)]


def get_init_inputs():
    return []
