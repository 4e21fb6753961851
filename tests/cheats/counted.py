"""What candidates are to count: how many numbers lie in each of six intervals."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.histc(x, bins=6, min=-3.0, max=3.0)


def get_inputs():
    return [torch.randn(90)]


def get_init_inputs():
    return []
