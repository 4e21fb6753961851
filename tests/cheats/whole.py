"""What candidates that add whole numbers are to compute."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return 3 * x.sum(-1)


def get_inputs():
    return [torch.randint(-100, 100, (13, 9))]


def get_init_inputs():
    return []
