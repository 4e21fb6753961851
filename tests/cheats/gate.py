"""What candidates are to compute where ties matter: the two greatest of each row are kept."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(columns))

    def forward(self, x):
        _, places = torch.topk(x, 2, dim=-1)
        return torch.zeros_like(x).scatter(1, places, 1.0) * self.scale


def get_inputs():
    return [torch.randn(13, 9)]


def get_init_inputs():
    return [9]
