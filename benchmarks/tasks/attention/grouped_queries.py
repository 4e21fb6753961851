"""A layer's attention with fewer heads of keys than of queries, heads beside each other in memory."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, heads, groups):
        super().__init__()
        self.heads, self.groups = heads, groups

    def forward(self, query, key, value):
        batch, length, width = query.shape
        query = query.view(batch, length, self.heads, -1).transpose(1, 2)
        key = key.view(batch, length, self.groups, -1).transpose(1, 2)
        value = value.view(batch, length, self.groups, -1).transpose(1, 2)
        out = F.scaled_dot_product_attention(query, key, value, enable_gqa=True)
        return out.transpose(1, 2).reshape(batch, length, width)


batch, length, heads, groups, width = 4, 768, 12, 3, 64


def get_inputs():
    return [torch.randn(batch, length, n * width) for n in (heads, groups, groups)]


def get_init_inputs():
    return [heads, groups]
