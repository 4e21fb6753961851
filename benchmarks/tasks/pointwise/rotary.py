"""Rotary position embedding over interleaved halves."""

import torch
from torch import nn

B = 8
T = 1024
H = 16
D = 64


class Model(nn.Module):
    def forward(self, x, cos, sin):
        first, second = x[..., : D // 2], x[..., D // 2 :]
        turned = torch.cat([-second, first], dim=-1)
        return x * cos[None, :, None, :] + turned * sin[None, :, None, :]


def get_inputs():
    return [torch.randn(B, T, H, D), torch.randn(T, D), torch.randn(T, D)]


def get_init_inputs():
    return []
