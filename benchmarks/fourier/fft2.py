"""The mixing of an FNet: spectra of matrices."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.fft.fft2(x).real


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(32, 512, 512)]


def get_init_inputs() -> list[int]:
    return []
