"""What candidates that answer with indices are to compute: the greatest of each row, and where they stand."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(columns))

    def forward(self, x):
        return tuple(torch.topk(x * self.scale, 3, dim=-1))


def get_inputs():
    return [torch.randint(0, 3, (13, 9)).float()]


def get_init_inputs():
    return [9]
