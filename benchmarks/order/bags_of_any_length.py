"""Sums of 0 to 39 rows of a table of a hundred thousand, which begin where offsets say."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bags = nn.EmbeddingBag(100_000, 64, mode="sum")

    def forward(self, index: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return self.bags(index, offsets)


def get_inputs() -> list[torch.Tensor]:
    ends = torch.randint(0, 40, (8192,)).cumsum(0).clamp(max=20 * 8192)
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), ends[:-1]])
    return [torch.randint(0, 100_000, (20 * 8192,)), offsets]


def get_init_inputs() -> list[int]:
    return []
