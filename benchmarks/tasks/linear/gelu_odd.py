"""A linear layer and GELU; the sizes divide nothing."""

import torch
import torch.nn.functional as F
from torch import nn

M = 1013
K = 1021
N = 2039


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x):
        return F.gelu(self.linear(x))


def get_inputs():
    return [torch.randn(M, K)]


def get_init_inputs():
    return [K, N]
