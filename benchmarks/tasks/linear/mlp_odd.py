"""Two linear layers with a GELU between them."""

import torch
import torch.nn.functional as F
from torch import nn

M = 509
K = 1021
HIDDEN = 2039
N = 1019


class Model(nn.Module):
    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.up = nn.Linear(inputs, hidden)
        self.down = nn.Linear(hidden, outputs)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


def get_inputs():
    return [torch.randn(M, K)]


def get_init_inputs():
    return [K, HIDDEN, N]
