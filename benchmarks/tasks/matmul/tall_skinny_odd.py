"""A tall matrix times its narrow transpose."""

import torch
from torch import nn

M = 4099
K = 67


class Model(nn.Module):
    def forward(self, a):
        return torch.matmul(a, a.t())


def get_inputs():
    return [torch.randn(M, K)]


def get_init_inputs():
    return []
