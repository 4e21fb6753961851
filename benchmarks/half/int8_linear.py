"""A linear layer whose weight is int8, with a bf16 scale for each output."""

import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (outputs, inputs), dtype=torch.int8))
        self.register_buffer("scale", (torch.rand(outputs, 1) / 127).to(torch.bfloat16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, self.weight.to(torch.bfloat16) * self.scale)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(64, 4096, dtype=torch.bfloat16)]


def get_init_inputs() -> list[int]:
    return [4096, 4096]
