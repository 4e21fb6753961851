"""Attention written out: a product, a softmax with a mask that is handed in, a product; lengths that divide nothing."""

import math

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, query, key, value, mask):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        return scores.masked_fill(mask == 0, float("-inf")).softmax(dim=-1) @ value


batch, heads, queries, keys, width = 3, 7, 777, 901, 40


def get_inputs():
    return [
        torch.randn(batch, heads, queries, width),
        torch.randn(batch, heads, keys, width),
        torch.randn(batch, heads, keys, width),
        (torch.rand(batch, 1, queries, keys) < 0.7).int(),
    ]


def get_init_inputs():
    return []
