"""Six layers of an FNet."""

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.mixed, self.fed = nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.mixed(x + torch.fft.fft2(x, dim=(-2, -1)).real)
        return self.fed(x + self.feed(x))


class Model(nn.Module):
    def __init__(self, width: int, count: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(*[Layer(width) for _ in range(count)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(16, 512, 768)]


def get_init_inputs() -> list[int]:
    return [768, 6]
