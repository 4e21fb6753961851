"""A linear layer and a ReLU: a matrix product whose epilogue adds the bias and clamps."""

import torch
from torch import nn


class Model(nn.Module):
    """y = max(x @ weight.T + bias, 0)"""

    def __init__(self, in_features: int, out_features: int):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x))


batch_size = 1024
in_features = 768
out_features = 1000


def get_inputs():
    return [torch.randn(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features]
