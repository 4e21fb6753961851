"""Dropout in training."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(x, 0.5, training=True)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(4096, 4096)]


def get_init_inputs() -> list[int]:
    return []
