"""Images at twice their size, bilinear."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        return F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)


batch, channels, height, width = 4, 32, 128, 128


def get_inputs():
    return [torch.randn(batch, channels, height, width)]


def get_init_inputs():
    return []
