"""What candidates are to move, and to add up."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return x.t().contiguous(), x.sum().reshape(1)


def get_inputs():
    return [torch.rand(13, 9)]


def get_init_inputs():
    return []
