"""What candidates are to sum: the first elements of each row, as many as a length says."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, lengths):
        return x.masked_fill(torch.arange(11) >= lengths.unsqueeze(1), 0.0).sum(1)


def get_inputs():
    return [torch.randn(9, 11), torch.randint(1, 12, (9,))]


def get_init_inputs():
    return []
