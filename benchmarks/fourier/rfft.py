"""Spectra of real rows."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.fft.rfft(x).abs()


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(16384, 1024)]


def get_init_inputs() -> list[int]:
    return []
