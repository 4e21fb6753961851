"""Six layers of a GRU over 512 steps, as in KernelBench's level 3."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.GRU(128, 256, 6, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)[0]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(10, 512, 128)]


def get_init_inputs() -> list[int]:
    return []
