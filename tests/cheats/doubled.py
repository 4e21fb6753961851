"""What candidates are to compute whose answers take more than a page of memory."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return x * 2


def get_inputs():
    return [torch.randn(32, 40)]


def get_init_inputs():
    return []
