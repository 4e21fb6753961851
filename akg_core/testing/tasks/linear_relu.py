"""A matrix product with an epilogue, and parameters that the constructor draws."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x):
        return torch.relu(self.linear(x))


def get_inputs():
    return [torch.rand(17, 45)]


def get_init_inputs():
    return [45, 33]
