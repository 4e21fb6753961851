"""ELU and a residual in bfloat16."""

import torch
import torch.nn.functional as F
from torch import nn

M = 4096
N = 8192


class Model(nn.Module):
    def forward(self, x, residual):
        return F.elu(x) + residual


def get_inputs():
    return [torch.randn(M, N).bfloat16(), torch.randn(M, N).bfloat16()]


def get_init_inputs():
    return []
