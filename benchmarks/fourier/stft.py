"""A signal to spectra and back."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(1024))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        spectra = torch.stft(x, 1024, 256, window=self.window, return_complex=True)
        return torch.istft(spectra * 0.5, 1024, 256, window=self.window)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(16, 160000)]


def get_init_inputs() -> list[int]:
    return []
