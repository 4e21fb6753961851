"""Designed sketches of convolutions and pooling, the first and the variants, at sizes that divide nothing."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from akg_core.design import design
from akg_core.records import Traits
from akg_core.task.capture import capture
from akg_core.task.source.load import load_source
from akg_core.testing.emission.running import Case

TRAITS = Traits(units=2, lanes=16, on_chip_bytes=64 * 1024, tile_elements=512, dot_tile=(32, 64, 32))
MATRIX = TRAITS.model_copy(update={"half_tile": (32, 32, 32), "convolution_format": "tf32"})
LAYERS = {
    "conv2d": ("nn.Conv2d(6, 10, 3, stride=2, padding=1)", (3, 6, 13, 21)),
    "max_pool2d": ("nn.MaxPool2d(3, 2, 1, return_indices=True)", (2, 3, 13, 45)),
    "conv_transpose2d": ("nn.ConvTranspose2d(6, 5, (4, 3), stride=(2, 3), padding=1)", (2, 6, 5, 17)),
    "conv2d_grouped": ("nn.Conv2d(6, 10, (3, 5), dilation=(1, 2), padding=(2, 3), groups=2)", (2, 6, 13, 70)),
    "conv2d_depthwise": ("nn.Conv2d(6, 6, 3, padding=1, groups=6)", (2, 6, 13, 45)),
    "conv1d_pointwise": ("nn.Conv1d(6, 10, 1, stride=3)", (2, 6, 130)),
    "conv3d": ("nn.Conv3d(3, 5, (2, 3, 3), padding=(0, 1, 1))", (2, 3, 5, 6, 19)),
    "conv2d_packed": ("nn.Conv2d(16, 20, (3, 2), padding=1)", (2, 16, 6, 11)),
    "conv2d_folded": ("nn.Conv2d(3, 8, 5, stride=2, padding=2)", (2, 3, 13, 12)),
    "conv_transpose1d_joined": ("nn.ConvTranspose1d(16, 8, 3, stride=2, padding=1)", (2, 16, 33)),
    "conv_transpose2d_joined": ("nn.ConvTranspose2d(16, 8, 3, stride=2, dilation=2)", (2, 16, 5, 9)),
    "max_pool1d": ("nn.MaxPool1d(8, 1, 4, dilation=3)", (2, 3, 140)),
    "avg_pool3d": ("nn.AvgPool3d(3, 2, 1, count_include_pad=False)", (2, 3, 5, 6, 37)),
    "adaptive_avg_pool2d": ("nn.AdaptiveAvgPool2d((3, 4))", (2, 3, 13, 17)),
}
REFERENCE = """
from torch import nn
import torch

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = {layer}

    def forward(self, x):
        return self.layer(x)

def get_inputs():
    return [torch.randn{shape}]

def get_init_inputs():
    return []
"""


def cases() -> Iterator[Case]:
    for name, (layer, shape) in LAYERS.items():
        module = load_source(REFERENCE.format(layer=layer, shape=shape), name)
        torch.manual_seed(0)
        parameters = {k: v.detach() for k, v in module.Model().state_dict().items()}
        (given,) = module.get_inputs()
        traits = MATRIX if name.endswith(("packed", "folded", "joined")) else TRAITS
        for number, sketch in enumerate(design(capture(module), traits)):
            yield Case(f"{name}_{number}", sketch.text, (given,), parameters, tolerance=1e-5)
            if traits is MATRIX and number == 0:  # with numbers that f16 does not hold in some tiles
                small = torch.where(torch.arange(given.shape[-1]) < 3, given * 2.0**-40, given)
                yield Case(f"{name}_small", sketch.text, (small,), parameters, tolerance=1e-5)
