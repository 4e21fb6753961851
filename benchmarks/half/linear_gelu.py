"""A linear layer with bias, then GELU, in bf16."""

import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, outputs, dtype=torch.bfloat16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.gelu(self.linear(x))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(4096, 4096, dtype=torch.bfloat16)]


def get_init_inputs() -> list[int]:
    return [4096, 11008]
