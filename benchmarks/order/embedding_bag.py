"""Means of 40 rows of a table of a million."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(1_000_000, 64, mode="mean")

    def forward(self, index: torch.Tensor) -> torch.Tensor:
        return self.bag(index)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randint(0, 1_000_000, (16384, 40))]


def get_init_inputs() -> list[int]:
    return []
