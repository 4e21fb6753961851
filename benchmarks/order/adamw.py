"""A step of AdamW over a hundred million parameters."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(
        self, weight: torch.Tensor, grad: torch.Tensor, mean: torch.Tensor, square: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        mean = 0.9 * mean + 0.1 * grad
        square = 0.999 * square + 0.001 * grad * grad
        step = (mean / (1 - 0.9**10)) / (torch.sqrt(square / (1 - 0.999**10)) + 1e-8)
        return weight * (1 - 1e-3 * 0.01) - 1e-3 * step, mean, square


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(100_000_000), torch.randn(100_000_000), torch.randn(100_000_000), torch.rand(100_000_000)]


def get_init_inputs() -> list[int]:
    return []
