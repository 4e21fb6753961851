"""What candidates are to move: a transpose, of which every element is a copy."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return x.t().contiguous()


def get_inputs():
    return [torch.rand(13, 9)]


def get_init_inputs():
    return []
