"""A million rows added to a hundred thousand, several to each."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor, index: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return x.index_add(0, index, rows)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(100_000, 128), torch.randint(0, 100_000, (1_000_000,)), torch.randn(1_000_000, 128)]


def get_init_inputs() -> list[int]:
    return []
