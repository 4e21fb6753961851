"""A 3 x 3 convolution in f16, channels last."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, stride=1, padding=1, bias=False, dtype=torch.float16)
        self.conv.to(memory_format=torch.channels_last)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def get_inputs() -> list[torch.Tensor]:
    x = torch.randn(64, 256, 56, 56, dtype=torch.float16)
    return [x.to(memory_format=torch.channels_last)]


def get_init_inputs() -> list[int]:
    return [256]
