"""A 3 x 3 convolution by steps of 2 in f16, channels last."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, stride=2, padding=1, bias=False, dtype=torch.float16)
        self.conv.to(memory_format=torch.channels_last)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


def get_inputs() -> list[torch.Tensor]:
    x = torch.randn(32, 128, 112, 112, dtype=torch.float16)
    return [x.to(memory_format=torch.channels_last)]


def get_init_inputs() -> list[int]:
    return [128]
