"""Triplet margin loss of three embeddings."""

import torch
import torch.nn.functional as F
from torch import nn

M = 8192
N = 1536


class Model(nn.Module):
    def forward(self, anchor, positive, negative):
        return F.triplet_margin_loss(anchor, positive, negative, margin=1.0)


def get_inputs():
    return [torch.randn(M, N), torch.randn(M, N), torch.randn(M, N)]


def get_init_inputs():
    return []
