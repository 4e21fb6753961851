"""Three matrices side by side, then a ReLU."""

import torch
from torch import nn

M = 4001
N = 1999


class Model(nn.Module):
    def forward(self, a, b, c):
        return torch.relu(torch.cat([a, b, c], dim=1))


def get_inputs():
    return [torch.randn(M, N), torch.randn(M, N), torch.randn(M, N)]


def get_init_inputs():
    return []
