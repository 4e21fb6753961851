"""Huber loss; the sizes divide nothing."""

import torch
import torch.nn.functional as F
from torch import nn

M = 4099
N = 4001


class Model(nn.Module):
    def forward(self, prediction, target):
        return F.smooth_l1_loss(prediction, target)


def get_inputs():
    return [torch.randn(M, N), torch.randn(M, N)]


def get_init_inputs():
    return []
