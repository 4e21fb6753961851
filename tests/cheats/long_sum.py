"""What candidates are to add up: so many squares that the last one is less than rounding may be."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return (x * x).mean()


def get_inputs():
    return [torch.randn(1021, 1027)]


def get_init_inputs():
    return []
