"""One step of Adam: three outputs from four inputs."""

import torch
from torch import nn

N = 5000011


class Model(nn.Module):
    def forward(self, p, grad, m, v, beta1, beta2):
        first = beta1 * m + (1.0 - beta1) * grad
        second = beta2 * v + (1.0 - beta2) * grad * grad
        return p - 0.001 * first / (torch.sqrt(second) + 1e-8), first, second


def get_inputs():
    return [torch.randn(N), torch.randn(N), torch.randn(N), torch.rand(N), 0.9, 0.999]


def get_init_inputs():
    return []
