"""A linear layer and GELU in bfloat16, where one rounding of the sum is more than the GELU's tail."""

import torch
import torch.nn.functional as F
from torch import nn

M, K, N = 256, 512, 512


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(K, N, dtype=torch.bfloat16)

    def forward(self, x):
        return F.gelu(self.linear(x))


def get_inputs():
    return [torch.randn(M, K).bfloat16()]


def get_init_inputs():
    return []
