"""A long convolution by spectra, as in Hyena and S4."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        n = 2 * x.shape[-1]
        return torch.fft.irfft(torch.fft.rfft(x, n=n) * torch.fft.rfft(k, n=n), n=n)[..., : x.shape[-1]]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(16, 256, 4096), torch.randn(256, 4096)]


def get_init_inputs() -> list[int]:
    return []
