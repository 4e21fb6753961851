"""What candidates are to compute: a tensor so many times, with a number and a flag that the file gives."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, times, negated):
        return -times * x if negated else times * x


def get_inputs():
    return [torch.randn(13, 9), 3, True]


def get_init_inputs():
    return []
