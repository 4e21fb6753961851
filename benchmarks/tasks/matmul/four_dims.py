"""A four-dimensional tensor times a matrix."""

import torch
from torch import nn

B = 4
H = 16
W = 32
K = 512
N = 768


class Model(nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


def get_inputs():
    return [torch.randn(B, H, W, K), torch.randn(K, N)]


def get_init_inputs():
    return []
