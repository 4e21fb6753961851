"""A product of two square matrices in bf16."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(4096, 4096, dtype=torch.bfloat16) for _ in range(2)]


def get_init_inputs() -> list[int]:
    return []
